"""What `gpu_check.py` finds: rows of a table, each with what it should be."""

import math
import traceback
from collections.abc import Iterator
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
