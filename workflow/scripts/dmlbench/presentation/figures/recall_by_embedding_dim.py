"""One line per loss: recall over the embedding size, or over an axis of the variants."""

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dmlbench.evaluation.names import quantity
from dmlbench.presentation import _variants, style
from dmlbench.presentation._scores import pick, present, printed_values
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.numbers import brief
from dmlbench.values import Metric, Printed

NEEDS = "one_family"


class RecallByEmbeddingDim(Kind):
    """R@1 over the embedding size, one labeled line per loss, like psomas2020's figures 28 to 30.

    Printed numbers are hollow marks in the color of their line.

    Attributes:
        metric: what is drawn.
        axis: what is drawn over: `embedding_dim`, or an axis of the variants such as `lambda`
            (can2019, figures 2 and 3).
        printed: the printed numbers.
    """

    metric: Metric = "recall_at_1"
    axis: str = "embedding_dim"
    printed: Printed | None = None

    @cached_property
    def _values(self) -> dict[tuple, float]:
        return printed_values(self.printed, "metric", "method", self.axis)

    @style.house()
    def __call__(self, scores: pd.DataFrame) -> Figure:
        options = {"methods": self.everyone, "metrics": [self.metric]}
        shown = pick(scores, selection=self.selection, along=self.axis, **options)
        shown = shown.rename(columns={self.axis: "x"})
        is_baseline = shown.method == self.baseline
        losses, baseline = shown[~is_baseline], shown[is_baseline]
        place = {value: x for x, value in enumerate(_variants.in_order(shown.x))}
        figure = Figure(figsize=(4.2 + 1.3 * (len(place) - 1), 5.0))
        if len(baseline) and _far_below(baseline, losses):
            above, below = self._reach(losses["mean"]), self._reach(baseline["mean"])
            heights = [above, min(below, 0.4 * above)]
            panels = figure.subplots(2, 1, sharex=True, height_ratios=heights)
            figure.subplots_adjust(hspace=0.12)
            panels[0].spines["bottom"].set_visible(False)
            self._lines(panels[0], losses, place)
            self._lines(panels[1], baseline, place)
            panels[1].yaxis.set_major_locator(MaxNLocator(2, integer=True))
            _mark_break(*panels)
        else:
            panels = [figure.subplots()]
            self._lines(panels[0], shown, place)
        panels[-1].set_xticks(list(place.values()), list(map(str, place)))
        panels[-1].set_xlim(-0.15, len(place) - 0.92)
        panels[-1].set_xlabel("embedding size" if self.axis == "embedding_dim" else self.axis)
        panels[0].set_ylabel(self.with_unit(self.metric))
        note = " Hollow: printed." if self._values else ""
        style.head(panels[0], self.title, self.selected + note)
        return figure

    def _lines(self, axes, shown, place) -> None:
        printed = self._printed(shown)
        heights = pd.concat([shown["mean"], printed["mean"]])
        middle, reach = (heights.min() + heights.max()) / 2, self._reach(heights)
        axes.set_ylim(middle - reach / 2, middle + reach / 2)
        for method, marks in printed.groupby("method"):
            x = [place[value] for value in marks.x]
            style.printed(axes, x, marks["mean"], **style.look(method))
        for method in present(shown, self.everyone):
            self._line(axes, shown[shown.method == method], place, method)
        self._label(axes, shown, place)

    def _printed(self, shown: pd.DataFrame) -> pd.DataFrame:
        """The printed numbers of what is drawn, in the columns of `shown`."""
        keys = zip(shown.method, shown.x, strict=True)
        places = [(method, x, self._values.get((self.metric, method, x))) for method, x in keys]
        return pd.DataFrame(places, columns=["method", "x", "mean"]).dropna()

    def _line(self, axes, rows: pd.DataFrame, place: Mapping[int, int], method: str) -> None:
        rows = rows.sort_values("x", key=lambda values: values.map(place))
        look = {"lw": 1.8, "ms": 6, "mec": "white", "mew": 0.8, "elinewidth": 0.8, "capsize": 2}
        look |= style.look(method) | {"ls": "--" if method == self.baseline else "-"}
        x, spread = rows.x.map(place), rows["std"] if rows["std"].notna().any() else None
        axes.errorbar(x, rows["mean"], spread, clip_on=False, **look)

    def _label(self, axes, shown, place) -> None:
        ends = shown.sort_values("x", key=lambda values: values.map(place))
        ends = ends.groupby("method")["mean"].last().to_dict()
        line = float(np.ptp(axes.get_ylim())) * 0.052 if len(ends) > 1 else 0
        inch = 1 / (axes.get_position().width * axes.figure.get_figwidth())
        for method, height in spread_out(ends, gap=line).items():
            right = {"transform": axes.get_yaxis_transform()}
            x, y = [1 + 0.02 * inch, 1 + 0.2 * inch], [ends[method], height]
            axes.plot(x, y, color=style.color(method), lw=1, clip_on=False, **right)
            text = f"{self.name(method)}  {brief(self.metric, ends[method])}"
            axes.text(1 + 0.25 * inch, height, text, va="center", fontsize=8.5, **right)

    def _reach(self, heights: pd.Series) -> float:
        """What a panel covers to show these scores with some margin, in the metric's unit."""
        points = quantity(self.metric).factor / 100
        return max(3.0 * points, 1.16 * float(np.ptp(heights)) + 1.5 * points)


def spread_out(heights: Mapping[str, float], *, gap: float) -> dict[str, float]:
    """Heights moved as little as possible (least squares) to be at least `gap` apart, in order."""
    order = sorted(heights, key=heights.get)
    blocks: list[list[float]] = []
    for rank, key in enumerate(order):
        blocks.append([heights[key] - rank * gap])
        # Pool neighbors until the blocks rise: isotonic regression of the gap-free heights.
        while len(blocks) > 1 and np.mean(blocks[-2]) > np.mean(blocks[-1]):
            upper = blocks.pop()
            blocks[-1].extend(upper)
    level = [float(np.mean(block)) for block in blocks for _ in block]
    return {key: level[rank] + rank * gap for rank, key in enumerate(order)}


def _mark_break(above, below) -> None:
    """Two slanted strokes that mark the range omitted between two panels."""
    stroke = {"marker": [(-1, -0.6), (1, 0.6)], "ms": 10, "ls": "", "color": style.SOFT, "mew": 1.2}
    for axes, edge in ((above, 0), (below, 1)):
        axes.plot([0], [edge], transform=axes.transAxes, clip_on=False, gid="break", **stroke)
    faint = {"va": "top", "color": style.SOFT, "fontsize": 8}
    style.note_at(above, "scale broken", (0, 0), (10, -2), xycoords="axes fraction", **faint)


def _far_below(baseline: pd.DataFrame, losses: pd.DataFrame) -> bool:
    """Whether a common axis would waste a third of its height on the gap above it."""
    return losses["mean"].min() - baseline["mean"].max() > 0.5 * float(np.ptp(losses["mean"]))
