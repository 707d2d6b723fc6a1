"""Ours against printed numbers as a small SVG picture."""

import numpy as np
import pandas as pd

from dmlbench.presentation.numbers import rounded

_SIDE, _LEFT, _BELOW = 320, 44, 36
"""Units of the plot's side, and space for its scales."""


def scatter(rows: pd.DataFrame, titles) -> str:
    """An SVG element: a mark for each printed number next to ours, on the line where they agree.

    Args:
        rows: rows with `printed` and `ours` in one unit, `method`, `metric` and `verdict`; rows
            without ours are left out.
        titles: (method, metric) -> the names of a mark.

    Returns:
        Marks whose class is the verdict's first word; empty if nothing ran.
    """
    both = rows.dropna(subset=["printed", "ours"])
    if both.empty:
        return ""
    values = both[["printed", "ours"]].to_numpy(float)
    low, high = _ends(values)
    x = _LEFT + (values[:, 0] - low) / (high - low) * _SIDE
    y = _SIDE - (values[:, 1] - low) / (high - low) * _SIDE + 6
    marks = [
        f'<circle class="{row.verdict.split()[0]}" cx="{a:.1f}" cy="{b:.1f}" r="3"><title>'
        f"{titles(row.method, row.metric)}: printed {row.printed:g}, ours {rounded(row.ours, 2)}"
        "</title></circle>"
        for row, a, b in zip(both.itertuples(), x, y, strict=True)
    ]
    line = f'<line class="equal" x1="{_LEFT}" y1="{_SIDE + 6}" x2="{_LEFT + _SIDE}" y2="6"/>'
    width, height = _LEFT + _SIDE + 12, _SIDE + _BELOW + 6
    return (
        f'<svg class="scatter" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{len(both)} numbers of ours against the printed ones">'
        f"{_scales(low, high)}{line}{''.join(marks)}</svg>"
    )


def _ends(values: np.ndarray) -> tuple[float, float]:
    """Multiples of ten around all values."""
    low, high = np.floor(values.min() / 10) * 10, np.ceil(values.max() / 10) * 10
    return float(low), float(high if high > low else low + 10)


def _scales(low: float, high: float) -> str:
    step = 10 if high - low <= 60 else 20
    ticks = np.arange(low, high + step / 2, step)
    parts = []
    for tick in ticks[ticks <= high]:
        place = (tick - low) / (high - low) * _SIDE
        x, y = _LEFT + place, _SIDE - place + 6
        parts.append(f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_LEFT + _SIDE}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
        parts.append(f'<text x="{x:.1f}" y="{_SIDE + 22}" text-anchor="middle">{tick:g}</text>')
    middle = _SIDE / 2 + 6
    parts.append(
        f'<text x="{_LEFT + _SIDE / 2}" y="{_SIDE + 38}" text-anchor="middle">printed</text>'
    )
    turn = f'transform="rotate(-90 12 {middle})"'
    parts.append(f'<text x="12" y="{middle}" text-anchor="middle" {turn}>ours</text>')
    return "".join(parts)
