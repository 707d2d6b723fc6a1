"""Where a search keeps its trials: a journal that many processes append to, or a database."""

import contextlib
import json
import os
import re
import uuid
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, unquote_plus

import optuna
from optuna.pruners import BasePruner
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from sqlalchemy.exc import SQLAlchemyError

from dmlbench import locks
from dmlbench.errors import UserError
from dmlbench.files import atomic_write, full_disk_is_a_user_error

DATABASE = "DMLBENCH_SEARCH_DATABASE"
"""Environment variable: a database's URL, as `postgresql+psycopg://user:password@host/name`."""

_CHECKSUM = "crc32"

optuna.logging.set_verbosity(optuna.logging.WARNING)


def open_study(folder: Path, name: str, pruner: BasePruner | None = None) -> optuna.Study:
    """The study of a search, created if it does not exist.

    Args:
        folder: the search's; the journal is `journal.log` in it, unless there is a database.
        name: of the study: a search with a different definition has another one.
        pruner: decides when to give up a trial; None for never.

    Raises:
        UserError: the database cannot be opened.
    """
    folder.mkdir(parents=True, exist_ok=True)
    url = os.environ.get(DATABASE)
    return optuna.create_study(
        storage=_database(url, folder) if url else _journal(folder),
        study_name=f"{name}-{_identity(folder)}" if url else name,
        direction="maximize",
        pruner=pruner or optuna.pruners.NopPruner(),
        load_if_exists=True,
    )


def _journal(folder: Path) -> BaseStorage:
    journal = _Journal(folder / "journal.log", folder / "locks" / "journal")
    # Optuna appends before it reads.
    for _ in journal.read_logs(0):
        pass
    return JournalStorage(journal)


def _database(url: str, folder: Path) -> BaseStorage:
    # The first process to open it creates the tables; searches are siblings of `folder`'s parent.
    with locks.held(folder.parents[1] / ".database.lock"):
        try:
            # Reconnect after a restart of the database.
            return RDBStorage(url, engine_kwargs={"pool_pre_ping": True})
        except (ImportError, RuntimeError, ValueError, SQLAlchemyError) as error:
            scheme, is_url, _ = url.partition("://")
            named = f"{scheme}://***" if is_url else "not a URL"
            reason = _without_secrets(str(error).strip().splitlines()[0], url)
            raise UserError(
                f"the database of searches, {named} ({DATABASE}), cannot be opened: {reason}"
            ) from None


def _identity(folder: Path) -> str:
    """Distinguishes this folder's trials from those of the same search in other results."""
    path = folder / "identity"
    with locks.held(folder / "locks" / "identity"):
        if not path.exists():
            with atomic_write(path) as unfinished:
                unfinished.write_text(uuid.uuid4().hex[:8])
        return path.read_text()


def _without_secrets(text: str, url: str) -> str:
    """A driver's message without what a URL says in secret: its password and its query's values.

    A password may be written unquoted, with signs that divide a URL, and a driver then takes a part
    of it for a host: each part is removed, as it is written and as it is meant.
    """
    for secret in sorted(_secrets(url), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
    return text


def _secrets(url: str) -> set[str]:
    rest = url.partition("://")[2]
    login, _, _ = rest.rpartition("@")
    user, colon, password = login.partition(":")
    query = rest.partition("?")[2]
    whole = {url, rest, password if colon else user}
    values = {value for pair in re.split("[&;]", query) for value in [pair.partition("=")[2], pair]}
    parts = {part for each in whole - {url, rest} | values for part in re.split("[:@/?&=]", each)}
    written = whole | values | parts
    return {each for text in written for each in (text, unquote(text), unquote_plus(text)) if each}


class _Journal(JournalFileBackend):
    """Optuna's journal, safe from writers that are killed and from damage.

    Optuna's own lock outlives its holder by half a minute, and a line truncated by a crash makes
    its journal unreadable. Each line has a checksum, and the file next to the journal has the
    length that it reached, so that trials which are lost or changed are an error.
    """

    def __init__(self, path: Path, lock: Path):
        super().__init__(str(path))
        self.path, self.lock = path, lock
        self.length = path.with_suffix(".length")

    def read_logs(self, log_number_from: int) -> Iterator[dict]:
        """Optuna's, checked.

        Raises:
            UserError: a line is damaged, or lines are missing.
        """
        # First: the journal only grows.
        written = self._written()
        try:
            for log in super().read_logs(log_number_from):
                # Lines of before there were checksums have none.
                checksum = log.pop(_CHECKSUM, None)
                if checksum not in (None, _checksum(log)):
                    raise ValueError("a line differs from its checksum")
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
        with contextlib.suppress(FileNotFoundError, ValueError):
            return int(self.length.read_text())
        return 0

    def append_logs(self, logs: list[dict]) -> None:
        lines = "".join(_text(log | {_CHECKSUM: _checksum(log)}) + "\n" for log in logs)
        with (
            full_disk_is_a_user_error(self.path),
            locks.held(self.lock),
            open(self.path, "rb+") as file,
        ):
            end = _end_of_last_line(file)
            if end < self._written():
                raise self._damaged(f"{self._written()} bytes were written, {end} can be read")
            file.truncate(end)
            file.seek(0, os.SEEK_END)
            file.write(lines.encode())
            # An unbuffered write to a full disk would write a part without an error.
            file.flush()
            os.fsync(file.fileno())
            self.length.write_text(str(file.tell()))


def _text(log: dict) -> str:
    return json.dumps(log, separators=(",", ":"))


def _checksum(log: dict) -> int:
    return zlib.crc32(_text(log).encode())


def _end_of_last_line(file: BinaryIO) -> int:
    """Bytes up to and including the last newline: only the end of the file may be incomplete."""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - 1))
    if end == 0 or file.read(1) == b"\n":
        return end
    file.seek(0)
    return file.read().rfind(b"\n") + 1
