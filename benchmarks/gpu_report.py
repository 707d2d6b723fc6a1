"""What `gpu_check.py` finds: rows of a table, each with what it should be."""

from typing import NamedTuple


class Finding(NamedTuple):
    """A number and the limit that it keeps or breaks.

    Attributes:
        part: of the check.
        what: was measured.
        value: in `unit`; None where it could not be measured, and `unit` says why.
        least, most: limits; None for none.
        unit: of the value.
    """

    part: str
    what: str
    value: float | None
    unit: str = ""
    least: float | None = None
    most: float | None = None

    @property
    def verdict(self) -> str:
        """`ok`, `MISSED`, or nothing where there is no limit or no value."""
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
        return (
            f"{self.part:11} {self.what:52} {value:>10} {self.unit:16} {limit:>10}  {self.verdict}"
        )
