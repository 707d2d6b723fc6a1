"""Numbers as every table, figure and page prints them."""

from decimal import ROUND_HALF_UP, Decimal

_NOISE = 9
"""Decimals beyond which a score is noise of floating-point numbers."""


def rounded(value: float, decimals: int, *, sign: str = "") -> str:
    """A number with so many decimals, halves away from zero, never minus zero.

    Halves are those of the decimal number that is meant: 64.15 becomes 64.2 even where it was
    computed as 64.14999999999999.

    Args:
        sign: "+" to print a plus before what is above 0 once rounded.
    """
    meant = Decimal(repr(round(float(value), _NOISE)))
    number = meant.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    return f"{number if number else abs(number):{sign}f}"


def duration(seconds: float) -> str:
    """Seconds as a reader says them: 4.2 s, 3 min 20 s, 2 h 05 min (spaces that do not break)."""
    minutes, rest = divmod(round(seconds), 60)
    if seconds < 59.95:
        text = f"{seconds:.1f} s"
    elif minutes < 60:
        text = f"{minutes} min {rest:02d} s"
    else:
        text = f"{minutes // 60} h {minutes % 60:02d} min"
    return text.replace(" ", "\N{NO-BREAK SPACE}")
