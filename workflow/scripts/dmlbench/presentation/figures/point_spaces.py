"""Spaces of two dimensions side by side, colored by class."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dmlbench.errors import unknown
from dmlbench.evaluation.names import quantity
from dmlbench.presentation import style
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.numbers import brief
from dmlbench.statistics.summary import in_units, summarize
from dmlbench.values import Fact, Metric

_COLORS = ("#332288", "#ddaa33", "#44aa99", "#cc6677", "#88ccee", "#882255", "#117733", "#999933")
_MARKS = "os^vDPX*"


class PointSpaces(Kind):
    """One panel per space, its scores below it.

    Attributes:
        spaces: from left to right: `array`, the name of the points [N, 2]; `title`; `where`, the
            columns of the long table (method, variant, role) that select the scores below the
            panel; no scores without it.
        metrics: the scores below a panel, means over seeds; none if not given.
        circle: whether to draw the unit circle.
        arrays: seed -> the arrays of that seed, with `labels`, the class of each point, [N]; the
            points of the first seed are drawn.
    """

    arrays: Fact[Mapping[int, Mapping[str, np.ndarray]]]
    spaces: Sequence[Mapping[Literal["array", "title", "where"], str | Mapping[str, str]]]
    metrics: Sequence[Metric] | None = None
    circle: bool = False

    @style.house()
    def __call__(self, scores: pd.DataFrame) -> Figure:
        arrays = self.arrays[min(self.arrays)]
        for space in self.spaces:
            if space["array"] not in arrays:
                raise unknown("array of a figure", space["array"], arrays)
        height = 3.1 + 0.2 * len(self.metrics or ())
        figure, panels = style.panels(range(len(self.spaces)), width=2.6, height=height, margin=0.4)
        for space, axes in zip(self.spaces, panels.values(), strict=True):
            self._draw(axes, space["title"], arrays[space["array"]], arrays["labels"])
            axes.text(
                0.5,
                -0.06,
                "\n".join(self._lines(scores, space.get("where"))),
                transform=axes.transAxes,
                ha="center",
                va="top",
                fontsize=8.5,
                linespacing=1.5,
            )
        style.head_of_panels(figure, self.title, self._note(scores))
        return figure

    def _note(self, scores: pd.DataFrame) -> str:
        seeds = scores["seed"].nunique()
        drawn = f"Points of seed {min(self.arrays)}"
        if not self.metrics:
            return f"{drawn}."
        return f"{drawn}; scores are {'its' if seeds == 1 else f'means of {seeds} seeds'}."

    def _draw(self, axes, title: str, points: np.ndarray, labels: np.ndarray) -> None:
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
        style.heading(axes, title)
        axes.set_aspect("equal", adjustable="datalim")
        axes.grid(False)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines["bottom"].set_visible(False)

    def _lines(self, scores: pd.DataFrame, where: Mapping | None) -> list[str]:
        if where is None:
            return []
        kept = scores
        for column, value in where.items():
            kept = kept[kept[column] == value]
        means = summarize(in_units(kept), ["metric"]).set_index("metric")["mean"]
        return [self._line(metric, means[metric]) for metric in self.metrics or ()]

    def _line(self, metric: str, value: float) -> str:
        return f"{self.name(metric)}  {brief(metric, value)}{quantity(metric).unit}"
