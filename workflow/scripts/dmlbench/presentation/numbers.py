"""Number formats of all tables, figures and pages."""

from decimal import ROUND_HALF_UP, Decimal

from dmlbench.evaluation.names import quantity

_NOISE = 9
"""Decimals beyond which a score is floating-point noise."""


def rounded(value: float, decimals: int, *, sign: str = "") -> str:
    """A number with a given number of decimals, halves rounded away from zero, never minus zero.

    Halves are those of the intended decimal number: 64.15 becomes 64.2 even if it was computed as
    64.14999999999999.

    Args:
        sign: "+" to print a plus before numbers that are above 0 after rounding.
    """
    meant = Decimal(repr(round(float(value), _NOISE)))
    number = meant.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    return f"{number if number else abs(number):{sign}f}"


def brief(metric: str, value: float) -> str:
    """A metric's value in its unit, for the inside of a figure: `61.3` percent, or `0.457`."""
    return rounded(value, 1) if quantity(metric).percent else f"{value:.3g}"


def duration(seconds: float) -> str:
    """Seconds as text: 4.2 s, 3 min 20 s, 2 h 05 min (with no-break spaces)."""
    minutes, rest = divmod(round(seconds), 60)
    if seconds < 59.95:
        text = f"{seconds:.1f} s"
    elif minutes < 60:
        text = f"{minutes} min {rest:02d} s"
    else:
        text = f"{minutes // 60} h {minutes % 60:02d} min"
    return text.replace(" ", "\N{NO-BREAK SPACE}")
