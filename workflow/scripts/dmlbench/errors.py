"""Errors that a user can fix: one line that names what, where and what is allowed."""

import contextlib
import difflib
import os
from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral
from pathlib import Path
from typing import TypeVar

Entry = TypeVar("Entry")


class UserError(ValueError):
    """Bad input. The message is one line: what is wrong, where, and what is allowed."""


class DamagedError(UserError):
    """A file that exists but cannot be read.

    Attributes:
        path: the file.
    """

    def __init__(self, path: str | os.PathLike, reason: Exception):
        words = " ".join(str(reason).split())[:100] or type(reason).__name__
        super().__init__(f"{path}: damaged or incomplete ({words})")
        self.path = Path(path)


class MisplacedError(DamagedError):
    """A file that is intact and is another's: it was written in another folder."""

    def __init__(self, path: str | os.PathLike, place: str):
        super().__init__(path, ValueError(place))
        self.args = (f"{path}: belongs to {place}, and was put here under another name",)


_MOST_NAMES = 100
"""Names in a message; a search is one of 1,700, which no terminal shows at once."""


def unknown(what: str, name: str, allowed: Iterable[str]) -> UserError:
    """An error for a name that is not among the allowed ones, near matches first.

    >>> print(unknown("loss", "proxy_ancor", ["margin", "proxy_anchor"]))
    unknown loss 'proxy_ancor'; did you mean 'proxy_anchor'? allowed: margin, proxy_anchor
    """
    allowed = sorted(allowed)
    near = difflib.get_close_matches(name, allowed, n=3)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    listed = ", ".join(allowed[:_MOST_NAMES]) or "none"
    left = f" and {more} more" if (more := len(allowed) - _MOST_NAMES) > 0 else ""
    return UserError(f"unknown {what} {name!r}; {hint}allowed: {listed}{left}")


def entry(what: str, name: str, catalogue: Mapping[str, Entry]) -> Entry:
    """The entry of a name in a catalogue; raises `unknown` if there is none."""
    if name not in catalogue:
        raise unknown(what, name, catalogue)
    return catalogue[name]


def check_known(where: str, what: str, names: Iterable[str], allowed: Iterable[str]) -> None:
    """Raise a UserError, which begins with the place, for the first name that is not allowed."""
    for name in names:
        if name not in allowed:
            raise UserError(f"{where}: {unknown(what, str(name), allowed)}")


def check_count(name: str, value: object, *, least: int) -> None:
    """Raise a UserError for a number that is not whole, or below the least that is allowed."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise UserError(f"{name}: {value!r}; allowed: a whole number of at least {least}")


@contextlib.contextmanager
def located(where: str) -> Iterator[None]:
    """A UserError of the block begins with the place that is to blame."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
