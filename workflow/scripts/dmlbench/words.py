"""Words around numbers, in lines for the terminal and in captions."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: `1 search`, `2,000 searches`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"
