"""How a printed number relates to its recomputation."""

EQUAL = "equal"
TRUNCATED = "truncated"
ROUNDED_UP = "rounded up"
DIFFERS = "differs"

_SLACK = 1e-6


def verdict(printed: float, recomputed: float, decimals: int) -> str:
    """Compare a printed number with its recomputation, at the printed number of decimals.

    `equal` if it is the recomputed number rounded (halves either way), `truncated` if further
    digits were cut off, `rounded up` if it is the next number above although the nearest is below,
    else `differs`.
    """
    unit = 10.0**-decimals
    above = (recomputed - printed) / unit
    if abs(above) <= 0.5 + _SLACK:
        return EQUAL
    if 0 < above < 1:
        return TRUNCATED
    if -1 < above < 0:
        return ROUNDED_UP
    return DIFFERS


def same_number(first: float, first_decimals: int, second: float, second_decimals: int) -> bool:
    """Whether two printed numbers can be roundings of one number."""
    slack = 0.5 * (10.0**-first_decimals + 10.0**-second_decimals)
    if first_decimals == second_decimals:
        slack = 0.0
    return abs(first - second) <= slack + _SLACK
