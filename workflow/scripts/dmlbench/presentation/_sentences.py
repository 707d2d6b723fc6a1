"""Numbers, lists and significance in a sentence."""

from collections.abc import Sequence

SIGNIFICANT = 0.05
"""p-value below which a test finds a difference."""


def minus(text: object) -> str:
    """A number as text, with a sign as long as a plus."""
    return str(text).replace("-", "\N{MINUS SIGN}")


def listed(parts: Sequence[str]) -> str:
    """One, two and three."""
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last
