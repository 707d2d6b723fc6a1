"""Counts as one stacked bar, a small SVG picture with its legend."""

from collections.abc import Mapping

_WIDTH, _HEIGHT, _LINE, _COLUMNS = 640, 22, 22, 3
"""Units of the bar, of a line of its legend, and entries in such a line."""


def stacked_bar(counts: Mapping[str, int]) -> str:
    """An SVG element: a part for each count above 0, in order, as wide as its share.

    Args:
        counts: name -> count. A part's class is its name with hyphens for spaces.

    Returns:
        The element; empty if all counts are 0.
    """
    shown = {name: count for name, count in counts.items() if count}
    total = sum(shown.values())
    if not total:
        return ""
    parts, left = [], 0.0
    for number, (name, count) in enumerate(shown.items()):
        kind, width = name.replace(" ", "-"), count / total * _WIDTH
        line, column = divmod(number, _COLUMNS)
        x, y = column * _WIDTH / _COLUMNS, _HEIGHT + 8 + line * _LINE
        parts.append(
            f'<rect class="{kind}" x="{left:.1f}" y="0" width="{width:.1f}" height="{_HEIGHT}"/>'
            f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="14" height="14"/>'
            f'<text x="{x + 20:.1f}" y="{y + 12}">{name}: {count:,}</text>'
        )
        left += width
    height = _HEIGHT + 8 + _LINE * -(-len(shown) // _COLUMNS)
    named = ", ".join(f"{count:,} {name}" for name, count in shown.items())
    return (
        f'<svg class="stacked" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{named}">'
        f"{''.join(parts)}</svg>"
    )
