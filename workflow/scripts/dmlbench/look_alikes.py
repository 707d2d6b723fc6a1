"""Names that a reader cannot tell apart."""

import re
import unicodedata
from collections.abc import Iterable


def look_alikes(names: Iterable[object]) -> list[list[str]]:
    """Groups of different names that look alike, each of two or more, in the order of the names.

    They differ in case, blanks, or the form of Unicode (é as one character or two), or are one
    number (7, 07 and 7.0).

    >>> look_alikes(["rose", "Rose ", "lily", "7", "7.0"])
    [['rose', 'Rose '], ['7', '7.0']]
    """
    groups: dict[object, list[str]] = {}
    for name in dict.fromkeys(map(str, names)):
        groups.setdefault(_seen(name), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def _seen(name: str) -> object:
    plain = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
    # Not 1_000, which float reads, nor nan, which is not itself.
    if re.fullmatch(r"[+-]?\d+(\.\d*)?", plain):
        return float(plain)
    return plain
