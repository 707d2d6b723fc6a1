"""A training curve as a small SVG picture."""

import numpy as np
import pandas as pd

WIDTH, HEIGHT = 150, 40
"""Units of the picture; a page may show it larger."""

_AIR = 3


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
    epochs = history["epoch"].to_numpy(float)
    x = _AIR + (epochs - epochs[0]) / (epochs[-1] - epochs[0]) * (WIDTH - 2 * _AIR)
    parts = [_line("loss", x, _height(history["loss"].to_numpy(float)))]
    said = f"loss over {len(history)} epochs"
    values = history[metric].to_numpy(float) if metric else np.full(len(x), np.nan)
    if np.isfinite(values).sum() > 1:
        y, best = _height(values), np.nanargmax(values)
        parts.append(_line("score", x, y))
        parts.append(f'<circle class="best" cx="{x[best]:.0f}" cy="{y[best]:.0f}" r="2.5"/>')
        said = f"{metric.replace('_', ' ')} and {said}"
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    return f'<svg class="curve" {box} role="img" aria-label="{said}">{"".join(parts)}</svg>'


def _height(values: np.ndarray) -> np.ndarray:
    """Heights from the bottom (lowest value) to the top (highest); missing stays missing."""
    if not np.isfinite(values).any():
        return values
    low, high = np.nanmin(values), np.nanmax(values)
    share = (values - low) / (high - low) if high > low else 0 * values + 0.5
    return HEIGHT - _AIR - share * (HEIGHT - 2 * _AIR)


def _line(kind: str, x: np.ndarray, y: np.ndarray) -> str:
    there = np.isfinite(y)
    points = " ".join(f"{a:.0f},{b:.0f}" for a, b in zip(x[there], y[there], strict=True))
    return f'<polyline class="{kind}" points="{points}"/>'
