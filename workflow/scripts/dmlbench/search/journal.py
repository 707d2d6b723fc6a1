"""The journal of a search: an Optuna study in a file that many processes append to."""

import json
import os
from pathlib import Path
from typing import BinaryIO

import optuna
from optuna.pruners import BasePruner
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from dmlbench import locks
from dmlbench.files import full_disk_is_a_user_error

optuna.logging.set_verbosity(optuna.logging.WARNING)


def open_study(folder: Path, name: str, pruner: BasePruner | None = None) -> optuna.Study:
    """The study of a search, created if it does not exist yet.

    Args:
        folder: the search's; the journal is `journal.log` in it.
        name: of the study: a search that is defined otherwise has another one.
        pruner: when a trial is given up; none for never.
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
            # An unbuffered write would write what fits on a full disk, without an error.
            file.flush()
            os.fsync(file.fileno())


def _end_of_last_line(file: BinaryIO) -> int:
    """Bytes up to and including the last newline; only the end of the file may be incomplete."""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - 1))
    if end == 0 or file.read(1) == b"\n":
        return end
    file.seek(0)
    return file.read().rfind(b"\n") + 1
