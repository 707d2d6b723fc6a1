"""What `gpu_check.py` finds: rows of a table, each with what it should be."""

import math
import time
import traceback
from collections.abc import Hashable, Iterator
from typing import NamedTuple


class Finding(NamedTuple):
    """A number and the limit that it keeps or breaks.

    Attributes:
        part: of the check.
        what: was measured.
        value: in `unit`; None where it could not be measured, and `unit` or `failure` says why.
        least, most: limits; None for none.
        unit: of the value.
        failure: the error that it ended with.
    """

    part: str
    what: str
    value: float | None
    unit: str = ""
    least: float | None = None
    most: float | None = None
    failure: str = ""

    @property
    def verdict(self) -> str:
        """`ok`, `MISSED`, `FAILED`, or nothing where there is no limit or no value."""
        if self.failure:
            return "FAILED"
        if self.value is None or (self.least is None and self.most is None):
            return ""
        low = self.least is not None and not self.value >= self.least
        high = self.most is not None and not self.value <= self.most
        return "MISSED" if low or high else "ok"

    @property
    def line(self) -> str:
        """A row of the table."""
        value = "-" if self.value is None else f"{self.value:.4g}"
        limits = [f">= {self.least:g}"] if self.least is not None else []
        limits += [f"<= {self.most:g}"] if self.most is not None else []
        limit = " ".join(limits)
        row = (
            f"{self.part:11} {self.what:52} {value:>10} {self.unit:16} {limit:>10}  {self.verdict}"
        )
        return f"{row} {self.failure}" if self.failure else row

    def as_dict(self) -> dict:
        """What the file says of it; JSON has no word for what is not finite."""
        value = self.value
        if value is not None and not math.isfinite(value):
            value = str(value)
        return self._asdict() | {"value": value, "verdict": self.verdict}


def attempted(part: str, what: str, found: Iterator[Finding]) -> Iterator[Finding]:
    """What is found, to the end or to an error, which is a finding as well: the rest goes on."""
    try:
        yield from found
    except Exception as error:  # noqa: BLE001 (whatever it is, it is told)
        traceback.print_exc()
        reason = (str(error).splitlines() or [""])[0][:200]
        yield Finding(part, what, None, failure=f"{type(error).__name__}: {reason}")


class Budget:
    """Time for what is only of interest: nothing begins that may not end within it.

    Args:
        seconds: from now on.
    """

    def __init__(self, seconds: float):
        self._end = time.perf_counter() + seconds
        self._longest: dict[Hashable, float] = {}

    def attempted(
        self, part: str, what: str, kind: Hashable, expected: float, found: Iterator[Finding]
    ) -> Iterator[Finding]:
        """What is found if there is time for it.

        Args:
            kind: of work, of which each is taken to last as long as the longest before it.
            expected: seconds of the first of its kind.
        """
        begin = time.perf_counter()
        if begin + self._longest.get(kind, expected) > self._end:
            yield Finding(part, what, None, "left out: time is up")
            return
        yield from attempted(part, what, found)
        took = time.perf_counter() - begin
        self._longest[kind] = max(took, self._longest.get(kind, 0))
