"""The journal of a search: an Optuna study in a file that many processes append to."""

import json
import os
from pathlib import Path
from typing import BinaryIO

import optuna
from optuna.pruners import BasePruner
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from dmlbench.files import full_disk_is_a_user_error
from dmlbench.search import locks

optuna.logging.set_verbosity(optuna.logging.WARNING)


def open_study(folder: Path, name: str, pruner: BasePruner | None = None) -> optuna.Study:
    """The study of a search, made where it does not exist yet.

    Args:
        folder: the search's; the journal is `journal.log` in it.
        name: says what the trials are: trials of another definition are in another study.
        pruner: none for never.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return optuna.create_study(
        storage=JournalStorage(_Journal(folder / "journal.log", folder / "locks" / "journal")),
        study_name=name,
        direction="maximize",
        pruner=pruner or optuna.pruners.NopPruner(),
        load_if_exists=True,
    )


class _Journal(JournalFileBackend):
    """Optuna's journal, safe from writers that are killed.

    Optuna's own lock outlives its holder by half a minute, and a line that a crash cut off makes
    its journal unreadable.
    """

    def __init__(self, path: Path, lock: Path):
        super().__init__(str(path))
        self.path, self.lock = path, lock

    def append_logs(self, logs: list[dict]) -> None:
        lines = "".join(json.dumps(log, separators=(",", ":")) + "\n" for log in logs)
        with (
            full_disk_is_a_user_error(self.path),
            locks.held(self.lock),
            open(self.path, "rb+") as file,
        ):
            file.truncate(_end_of_last_line(file))
            file.seek(0, os.SEEK_END)
            file.write(lines.encode())
            # An unbuffered write would take what fits on a full disk, and say nothing.
            file.flush()
            os.fsync(file.fileno())


def _end_of_last_line(file: BinaryIO) -> int:
    """Bytes up to and with the last newline of a file, of which all but the end is known whole."""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - 1))
    if end == 0 or file.read(1) == b"\n":
        return end
    file.seek(0)
    return file.read().rfind(b"\n") + 1
