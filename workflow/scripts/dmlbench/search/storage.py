"""Where a search keeps its trials: a journal that many processes append to."""

import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import optuna
from optuna.pruners import BasePruner
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from dmlbench import locks
from dmlbench.errors import UserError
from dmlbench.files import limits_are_named
from dmlbench.shared_files import end_of_last_line, read_shared, rewrite, shared_file

_CHECKSUM, _AFTER = "crc32", "after"
"""Keys of a line: its checksum, and that of the line before it."""

optuna.logging.set_verbosity(optuna.logging.WARNING)


def open_study(folder: Path, name: str, pruner: BasePruner | None = None) -> optuna.Study:
    """The study of a search, created if it does not exist.

    Args:
        folder: the search's, for its `journal.log`.
        name: of the study: a search with a different definition has another one.
        pruner: decides when to give up a trial; None for never.
    """
    folder.mkdir(parents=True, exist_ok=True)
    journal = _Journal(folder / "journal.log", folder / "locks" / "journal")
    # Optuna appends before it reads.
    for _ in journal.read_logs(0):
        pass
    return optuna.create_study(
        storage=JournalStorage(journal),
        study_name=name,
        direction="maximize",
        pruner=pruner or optuna.pruners.NopPruner(),
        load_if_exists=True,
    )


class _Journal(JournalFileBackend):
    """Optuna's journal, safe from writers that are killed and from damage.

    Optuna's own lock outlives its holder by half a minute, and a line truncated by a crash makes
    its journal unreadable. Each line has a checksum and names that of the line before it, and the
    file next to the journal has the length that it reached, so that trials which are lost, changed,
    doubled or exchanged are an error.
    """

    def __init__(self, path: Path, lock: Path):
        with shared_file(path):
            super().__init__(str(path))
        self.path, self.lock = path, lock
        self.length = path.with_suffix(".length")
        self._checksums = {0: 0}

    def read_logs(self, log_number_from: int) -> Iterator[dict]:
        """Optuna's, checked.

        Raises:
            UserError: a line is damaged, or lines are missing.
        """
        # First: the journal only grows.
        written = self._written()
        try:
            for number, log in enumerate(super().read_logs(log_number_from), log_number_from):
                # Lines of before there were checksums have none.
                checksum, after = log.pop(_CHECKSUM, None), log.get(_AFTER)
                actual = _checksum(log)
                if checksum != actual and (checksum, after) != (None, None):
                    raise ValueError("a line differs from its checksum")
                if after not in (None, self._checksums.get(number, after)):
                    raise ValueError("a line is not where it was written")
                self._checksums[number + 1] = actual
                log.pop(_AFTER, None)
                yield log
        except ValueError as error:
            raise self._damaged(str(error)) from error
        read = max(self._log_number_offset.values())
        if read < written:
            raise self._damaged(f"{written} bytes were written, {read} can be read")

    def _damaged(self, why: str) -> UserError:
        return UserError(
            f"{self.path}: damaged or incomplete ({why}); restore it, or search again from the "
            f"beginning: rm -r {self.path.parent}"
        )

    def _written(self) -> int:
        """Bytes that the journal had after the last append, or less if that was interrupted."""
        try:
            text = read_shared(self.length)
        except FileNotFoundError:
            return 0
        return int(text) if text.isdecimal() else 0

    def append_logs(self, logs: list[dict]) -> None:
        with (
            limits_are_named(self.path),
            locks.held(self.lock),
            shared_file(self.path) as file,
        ):
            end = end_of_last_line(file)
            if end < self._written():
                raise self._damaged(f"{self._written()} bytes were written, {end} can be read")
            file.truncate(end)
            try:
                before = _last_checksum(file, end)
            except ValueError as error:
                raise self._damaged(str(error)) from error
            file.seek(end)
            file.write("".join(_chained(logs, before)).encode())
            # An unbuffered write to a full disk would write a part without an error.
            file.flush()
            os.fsync(file.fileno())
            rewrite(self.length, str(file.tell()))


def _text(log: dict) -> str:
    return json.dumps(log, separators=(",", ":"))


def _checksum(log: dict) -> int:
    return zlib.crc32(_text(log).encode())


def _chained(logs: list[dict], before: int) -> Iterator[str]:
    """The lines of logs, the first of which follows a line with this checksum."""
    for log in logs:
        known = log | {_AFTER: before}
        before = _checksum(known)
        yield _text(log | {_CHECKSUM: before, _AFTER: known[_AFTER]}) + "\n"


def _last_checksum(file: BinaryIO, end: int) -> int:
    """The checksum of the last line of a file that has so many bytes; 0 if it has none."""
    line, start = b"", end
    while start > 0 and b"\n" not in line[:-1]:
        start = max(0, end - max(4096, 2 * len(line)))
        file.seek(start)
        line = file.read(end - start)
    if not line:
        return 0
    log = json.loads(line[line.rfind(b"\n", 0, -1) + 1 :])
    log.pop(_CHECKSUM, None)
    return _checksum(log)
