"""Small SVG pictures of pages: a curve, ours against printed numbers, shares of counts."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from dmlbench.presentation.texts import rounded

_CURVE, _AIR = (150, 40), 3
"""Units of a curve, which a page may show larger, and those around it."""

_SIDE, _LEFT, _BELOW, _TOP = 320, 44, 36, 6
"""Units of the side of a scatter plot, and space for its scales and above it."""

_WIDTH, _HEIGHT, _LINE, _COLUMNS = 640, 22, 22, 3
"""Units of a stacked bar, of a line of its legend, and entries in such a line."""


def curve(history: pd.DataFrame, metric: str | None) -> str:
    """The loss and a watched score over the epochs, each on its own scale, as an SVG element.

    Args:
        history: with the columns epoch, loss and `metric`, missing for epochs that were not scored.
        metric: the score; None for the loss alone.

    Returns:
        Lines of class `loss` and `score`, and a mark of class `best` at the highest score; empty
        for fewer than two epochs.
    """
    if len(history) < 2:
        return ""
    width, height = _CURVE
    x = _AIR + _share(history["epoch"].to_numpy(float)) * (width - 2 * _AIR)
    drawn = {"loss": "loss"} | ({"score": metric} if metric else {})
    parts, said = [], f"loss over {len(history)} epochs"
    for kind, column in drawn.items():
        values = history[column].to_numpy(float)
        there = np.isfinite(values)
        if kind == "score" and there.sum() < 2:
            break
        y = height - _AIR - _share(values) * (height - 2 * _AIR)
        points = " ".join(f"{a:.0f},{b:.0f}" for a, b in zip(x[there], y[there], strict=True))
        parts.append(f'<polyline class="{kind}" points="{points}"/>')
        if kind == "score":
            best = np.nanargmax(values)
            parts.append(f'<circle class="best" cx="{x[best]:.0f}" cy="{y[best]:.0f}" r="2.5"/>')
            said = f"{metric.replace('_', ' ')} and {said}"
    return _svg("curve", width, height, said, parts, f' width="{width}" height="{height}"')


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
    low, high = float(np.floor(values.min() / 10) * 10), float(np.ceil(values.max() / 10) * 10)
    high = high if high > low else low + 10
    places = (values - low) / (high - low) * _SIDE
    marks = [
        f'<circle class="{row.verdict.split()[0]}" cx="{_LEFT + a:.1f}" '
        f'cy="{_SIDE - b + _TOP:.1f}" r="3"><title>{titles(row.method, row.metric)}: '
        f"printed {row.printed:g}, ours {rounded(row.ours, 2)}</title></circle>"
        for row, (a, b) in zip(both.itertuples(), places, strict=True)
    ]
    right, bottom = _LEFT + _SIDE, _SIDE + _TOP
    line = f'<line class="equal" x1="{_LEFT}" y1="{bottom}" x2="{right}" y2="{_TOP}"/>'
    said = f"{len(both)} numbers of ours against the printed ones"
    return _svg("scatter", right + 12, bottom + _BELOW, said, [*_scales(low, high), line, *marks])


def _scales(low: float, high: float) -> list[str]:
    step = 10 if high - low <= 60 else 20
    right, parts = _LEFT + _SIDE, []
    for tick in np.arange(low, high + step / 1000, step):
        place = (tick - low) / (high - low) * _SIDE
        y = _SIDE - place + _TOP
        parts.append(f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
        parts.append(_middle(f"{_LEFT + place:.1f}", _SIDE + 22, f"{tick:g}"))
    parts.append(_middle(_LEFT + _SIDE / 2, _SIDE + 38, "printed"))
    middle = _SIDE / 2 + _TOP
    return [*parts, _middle(12, middle, "ours", f' transform="rotate(-90 12 {middle})"')]


def stacked_bar(counts: Mapping[str, int]) -> str:
    """An SVG element: a part for each count above 0, in order, as wide as its share.

    Args:
        counts: name -> count. A part's class is its name with hyphens for spaces.

    Returns:
        The element; empty if all counts are 0.
    """
    shown = {name: count for name, count in counts.items() if count}
    if not shown:
        return ""
    parts, left = [], 0.0
    for number, (name, count) in enumerate(shown.items()):
        kind, width = name.replace(" ", "-"), count / sum(shown.values()) * _WIDTH
        line, column = divmod(number, _COLUMNS)
        x, y = column * _WIDTH / _COLUMNS, _HEIGHT + 8 + line * _LINE
        parts.append(
            f'<rect class="{kind}" x="{left:.1f}" y="0" width="{width:.1f}" height="{_HEIGHT}"/>'
            f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="14" height="14"/>'
            f'<text x="{x + 20:.1f}" y="{y + 12}">{name}: {count:,}</text>'
        )
        left += width
    height = _HEIGHT + 8 + _LINE * -(-len(shown) // _COLUMNS)
    said = ", ".join(f"{count:,} {name}" for name, count in shown.items())
    return _svg("stacked", _WIDTH, height, said, parts)


def _share(values: np.ndarray) -> np.ndarray:
    """Values between the lowest (0) and the highest (1); missing stays missing."""
    if not np.isfinite(values).any():
        return values
    low, high = np.nanmin(values), np.nanmax(values)
    return (values - low) / (high - low) if high > low else 0 * values + 0.5


def _middle(x: object, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="middle"{more}>{text}</text>'


def _svg(
    kind: str, width: float, height: float, said: str, parts: Sequence[str], more: str = ""
) -> str:
    box = f'viewBox="0 0 {width} {height}"{more} role="img" aria-label="{said}"'
    return f'<svg class="{kind}" {box}>{"".join(parts)}</svg>'
