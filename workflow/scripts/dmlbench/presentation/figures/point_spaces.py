"""Spaces of two dimensions side by side, colored by class."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dmlbench.errors import unknown
from dmlbench.presentation import style
from dmlbench.presentation.names import name
from dmlbench.presentation.numbers import rounded
from dmlbench.values import Fact, Metric

_COLORS = ("#332288", "#ddaa33", "#44aa99", "#cc6677", "#88ccee", "#882255", "#117733", "#999933")
_MARKS = "os^vDPX*"


class PointSpaces:
    """One panel per space, its scores below it.

    Args:
        title: printed above the figure.
        spaces: from left to right: `array`, the name of the points [N, 2]; `title`; `where`, the
            columns of the long table (method, variant, role) that select the scores below the
            panel; no scores without it.
        metrics: the scores below a panel, means over seeds; none if not given.
        labels: the array with the class of each point, [N].
        seed: whose points are drawn.
        circle: whether to draw the unit circle.
        ratios: metrics that are not fractions and not shown in percent.
        arrays: seed -> the arrays of that seed.
    """

    def __init__(
        self,
        arrays: Mapping[int, Mapping[str, np.ndarray]],
        *,
        title: Fact[str],
        spaces: Sequence[Mapping[Literal["array", "title", "where"], str | Mapping[str, str]]],
        metrics: Sequence[Metric] | None = None,
        labels: str = "labels",
        seed: int = 0,
        circle: bool = False,
        ratios: Sequence[str] = ("pi_ratio", "pi_intra", "pi_inter", "rho"),
    ):
        if seed not in arrays:
            raise unknown("seed of a figure", str(seed), map(str, arrays))
        self.arrays = arrays[seed]
        for wanted in [labels, *(space["array"] for space in spaces)]:
            if wanted not in self.arrays:
                raise unknown("array of a figure", wanted, self.arrays)
        self.title = title
        self.spaces = spaces
        self.metrics = list(metrics or [])
        self.labels = labels
        self.seed = seed
        self.circle = circle
        self.ratios = set(ratios)

    def __call__(self, scores: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
        """The figure; scores in a long table, points from the arrays."""
        with style.house():
            figure = Figure(figsize=(2.6 * len(self.spaces) + 0.4, 3.1 + 0.2 * len(self.metrics)))
            panels = figure.subplots(1, len(self.spaces), squeeze=False)[0]
            for axes, space in zip(panels, self.spaces, strict=True):
                self._draw(axes, space)
                axes.text(
                    0.5,
                    -0.06,
                    "\n".join(self._lines(scores, space.get("where"), titles)),
                    transform=axes.transAxes,
                    ha="center",
                    va="top",
                    fontsize=8.5,
                    linespacing=1.5,
                )
            figure.suptitle(self.title, x=0.02, ha="left", fontsize=11, fontweight="bold")
            figure.tight_layout(rect=(0, 0, 1, 0.96))
            figure.text(0.02, 0.9, self._note(scores), color=style.SOFT, fontsize=8.5, va="center")
        return figure

    def _note(self, scores: pd.DataFrame) -> str:
        seeds = scores["seed"].nunique()
        drawn = f"Points of seed {self.seed}"
        if not self.metrics:
            return f"{drawn}."
        return f"{drawn}; scores are {'its' if seeds == 1 else f'means of {seeds} seeds'}."

    def _draw(self, axes, space: Mapping) -> None:
        points, labels = self.arrays[space["array"]], self.arrays[self.labels]
        if self.circle and np.allclose(np.linalg.norm(points, axis=1), 1, atol=1e-3):
            angle = np.linspace(0, 2 * np.pi, 361)
            axes.plot(np.cos(angle), np.sin(angle), color=style.GRID, lw=1, zorder=0)
        for place, label in enumerate(np.unique(labels)):
            some = points[labels == label]
            axes.scatter(
                *some.T,
                s=14,
                color=_COLORS[place % len(_COLORS)],
                marker=_MARKS[place % len(_MARKS)],
                alpha=0.75,
                lw=0,
            )
        axes.set_title(space["title"], fontsize=9, fontweight="normal", pad=5)
        axes.set_aspect("equal", adjustable="datalim")
        axes.grid(False)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines["bottom"].set_visible(False)

    def _lines(self, scores: pd.DataFrame, where: Mapping | None, titles: Mapping) -> list[str]:
        if where is None:
            return []
        kept = scores
        for column, value in where.items():
            kept = kept[kept[column] == value]
        means = kept.groupby("metric")["value"].mean()
        return [self._line(metric, means[metric], titles) for metric in self.metrics]

    def _line(self, metric: str, value: float, titles: Mapping) -> str:
        shown = f"{value:.3g}" if metric in self.ratios else f"{rounded(100 * value, 1)}%"
        return f"{name(titles, metric)}  {shown}"
