"""Lines: scores along an axis, of rows or of variants."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dmlbench.evaluation.names import quantity
from dmlbench.presentation import _variants, style
from dmlbench.presentation._axis import along_axis
from dmlbench.presentation._relative import means, relative
from dmlbench.presentation._scores import pick, present, printed_values
from dmlbench.presentation.figures._mark import Mark
from dmlbench.presentation.texts import brief
from dmlbench.statistics.summary import select, summarize
from dmlbench.values import Metric, Printed, RankingMetric

_BANDS = {"half": "95% interval", "std": "standard deviation"}
_ACROSS = (0, (4, 3))
"""Dashes of a line across a panel."""


class RecallByEmbeddingDim(Mark):
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

    def draw(self, scores: pd.DataFrame) -> Figure:
        options = {"methods": self.everyone, "metrics": [self.metric], "along": self.axis}
        shown = pick(scores, selection=self.selection, **options)
        place = {value: x for x, value in enumerate(_variants.in_order(shown[self.axis]))}
        values = printed_values(self.printed, "method", self.axis, metric=self.metric)
        keys = zip(shown.method, shown[self.axis], strict=True)
        printed = pd.Series([values.get(key) for key in keys], shown.index, dtype=float)
        shown = shown.assign(x=shown[self.axis].map(place), printed=printed)
        shown = shown.sort_values("x", kind="stable")
        is_baseline = shown.method == self.baseline
        losses, baseline = shown[~is_baseline], shown[is_baseline]
        figure = Figure(figsize=(4.2 + 1.3 * (len(place) - 1), 5.0))
        if len(baseline) and _far_below(baseline, losses):
            above, below = self._reach(losses["mean"]), self._reach(baseline["mean"])
            heights = [above, min(below, 0.4 * above)]
            panels = figure.subplots(2, 1, sharex=True, height_ratios=heights)
            figure.subplots_adjust(hspace=0.12)
            panels[0].spines["bottom"].set_visible(False)
            self._lines(panels[0], losses)
            self._lines(panels[1], baseline)
            panels[1].yaxis.set_major_locator(MaxNLocator(2, integer=True))
            _mark_break(*panels)
        else:
            panels = [figure.subplots()]
            self._lines(panels[0], shown)
        panels[-1].set_xticks(list(place.values()), list(map(str, place)))
        panels[-1].set_xlim(-0.15, len(place) - 0.92)
        panels[-1].set_xlabel("embedding size" if self.axis == "embedding_dim" else self.axis)
        panels[0].set_ylabel(self.with_unit(self.metric))
        note = self.note(style.deviation(shown["std"]), values and "Hollow: printed.")
        style.head(panels[0], self.title, note)
        return figure

    def _lines(self, axes, shown: pd.DataFrame) -> None:
        heights = pd.concat([shown["mean"], shown["printed"].dropna()])
        middle, reach = (heights.min() + heights.max()) / 2, self._reach(heights)
        axes.set_ylim(middle - reach / 2, middle + reach / 2)
        for method in present(shown, self.everyone):
            rows, look = shown[shown.method == method], style.look(method)
            style.printed(axes, rows["x"], rows["printed"], **look)
            look |= {"lw": 1.8, "ms": 6, "ls": "--" if method == self.baseline else "-"}
            look |= {"elinewidth": 0.8, "clip_on": False}
            style.whiskers(axes, rows["x"], rows["mean"], rows["std"], **look)
        self._label(axes, shown.groupby("method")["mean"].last().to_dict())

    def _label(self, axes, ends: Mapping[str, float]) -> None:
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


class ScoresByAxis(Mark):
    """Means over seeds against the numbers of an axis of the variants, such as `classes=100`.

    One panel for each data set or method. Several metrics have a color each, otherwise each method
    has its own in all figures, or, if it is one of an experiment, in this figure. One seed has no
    band.

    Attributes:
        axis: the axis along x.
        metrics: what is drawn, in the order of the legend; also metrics of an experiment.
        panel: the column of the long table that has one value per panel.
        over: method -> the method into whose panel it is drawn, as dashed lines without marks.
        change: the parts of a variant, axis included, without which the same score is a dashed
            line across; no such lines if not given.
        band: half of the 95 % interval of the mean (Student's t), or the standard deviation.
        log: which axis of the figure is logarithmic.
        role: whose scores.
    """

    axis: str
    metrics: Sequence[Metric | str]
    panel: Literal["dataset", "method"] = "dataset"
    over: Mapping[str, str] | None = None
    change: Sequence[str] | None = None
    band: Literal["half", "std"] = "half"
    log: Literal["x", "y"] | None = None
    role: Literal["train", "validation", "test"] = "test"

    def draw(self, scores: pd.DataFrame) -> Figure:
        which = {"selection": self.selection, "role": self.role, "metrics": self.metrics}
        means = along_axis(scores, axis=self.axis, change=self.change or (), **which)
        means["panel"] = means[self.panel].replace(self.over or {})
        lines = self.in_order(zip(means.method, means.rest, strict=True))
        names, looks = self.legend(lines), self._looks(lines)
        units = {quantity(metric).percent for metric in self.metrics}
        label = self.with_unit(self.metrics[0]) if self._one else "%" if units == {True} else ""
        figure, panels = style.panels(means.panel, width=3.4, height=3.9, margin=1.8, label=label)
        for (key, *line), rows in means.groupby(["panel", "method", "rest", "metric"], sort=False):
            label = self._label(*line, names, with_unit=len(units) > 1)
            self._line(panels[key], rows.sort_values("x"), line[0], label, looks[self._key(*line)])
        for key, axes in panels.items():
            if len(panels) > 1:
                style.heading(axes, self.name(key))
            axes.margins(0.08)
            axes.set_xlabel(self.name(self.axis))
            if self.log == "y":
                axes.set_yscale("log")
            if self.log == "x":
                axes.set_xscale("log")
                axes.set_xticks(places := sorted(set(means.x)), [f"{x:,g}" for x in places])
                axes.minorticks_off()
        if self.change:
            self._without(panels, select(scores, **which), lines, looks)
        seeds = means.seeds.max()
        return self.headed(
            figure,
            "One seed." if seeds == 1 else f"Mean and {_BANDS[self.band]} of {seeds} seeds.",
            self.change and f"Dashed: without {' and '.join(self.change)}.",
            legend=[axes],
        )

    @property
    def _one(self) -> bool:
        return len(self.metrics) == 1

    def _key(self, method: str, rest: str, metric: str) -> tuple[str, str] | str:
        """What has a color: the method with its variant, or the metric."""
        return (method, rest) if self._one else metric

    def _looks(self, lines: Sequence[tuple[str, str]]) -> dict:
        if self._one and {method for method, _ in lines} <= style.PALETTE.keys():
            return style.looks(lines)
        return style.looks_by_place(lines if self._one else self.metrics)

    def _label(self, method: str, rest: str, metric: str, names, *, with_unit: bool) -> str:
        if self._one:
            return names[method, rest]
        label = self.with_unit(metric) if with_unit else self.name(metric)
        return label + (f", {self.name(method)}" if method in (self.over or {}) else "")

    def _line(self, axes, rows: pd.DataFrame, method: str, label: str, look: dict) -> None:
        if method in (self.over or {}):
            axes.plot(rows.x, rows["mean"], label=label, lw=1.2, color=look["color"], ls="--")
            return
        axes.plot(rows.x, rows["mean"], label=label, **{"lw": 1.4, "ms": 4.5} | look)
        if rows[self.band].notna().any():
            style.band(axes, rows.x, rows["mean"], rows[self.band].fillna(0), look["color"])

    def _without(self, panels: Mapping, scores: pd.DataFrame, lines: Sequence, looks) -> None:
        """A dashed line across for each score without the change."""
        for row in summarize(scores, ["dataset", "method", "variant", "metric"]).itertuples():
            panel, line = getattr(row, self.panel), (row.method, row.variant)
            if line in lines and panel in panels:
                color = looks[self._key(*line, row.metric)]["color"]
                panels[panel].axhline(row.mean, color=color, lw=1.2, ls=_ACROSS)


class RelativeScores(Mark):
    """One panel for each data set (rows) and axis (columns), one line for each loss.

    Each score, a mean over seeds, is divided by the best of its loss and metric along the axis; a
    mark is the mean over the metrics, like roth2020's figure 2.

    Attributes:
        axes: axes of the variants, or columns (`network`, `embedding_dim`).
        metrics: the metrics that are combined.
        reference: the values of columns while another axis varies: `{network: resnet50}`.
    """

    axes: Sequence[str]
    metrics: Sequence[RankingMetric]
    reference: Mapping[str, str | int]

    def draw(self, scores: pd.DataFrame) -> Figure:
        summary = means(scores, self.selection)
        shares = {
            axis: relative(self._along(summary, axis), axis, self.metrics) for axis in self.axes
        }
        everything = pd.concat(shares.values())
        looks = style.looks(self.in_order(zip(everything.method, everything.rest, strict=True)))
        first = summary.dataset.iloc[0]
        figure, grid = style.grid(summary.dataset, self.axes, size=(2.5, 2.2), margin=(2.0, 0.9))
        for (dataset, axis), axes in grid.items():
            self._panel(axes, shares[axis][shares[axis].dataset == dataset], looks)
            if axis == self.axes[0]:
                axes.set_ylabel(f"{self.name(dataset)}\n% of the best")
            if dataset == first:
                style.heading(axes, self.name(axis))
        together = ", ".join(self.name(metric) for metric in self.metrics)
        legend = [grid[first, self.axes[-1]], grid[first, self.axes[0]]]
        return self.headed(figure, f"Mean over {together}.", legend=legend)

    def _along(self, scores: pd.DataFrame, axis: str) -> pd.DataFrame:
        """Scores along an axis: the columns have their reference, and no other axis varies."""
        parts = scores.variant.map(lambda variant: set(_variants.parts(variant)))
        fixed = set(self.axes) - {axis} | ({axis} & self.reference.keys())
        kept = scores[parts.map(fixed.isdisjoint)]
        for column, value in self.reference.items():
            if column != axis:
                kept = kept[kept[column].astype(str) == str(value)]
        return kept

    def _panel(self, axes, frame: pd.DataFrame, looks) -> None:
        values, names = _variants.in_order(frame["at"]), self.legend(looks)
        shares = frame.groupby(["method", "rest", "at"], sort=False)["share"].mean()
        for key, look in looks.items():
            there = [(x, value) for x, value in enumerate(values) if (*key, value) in shares.index]
            y = [shares[*key, value] for _, value in there]
            axes.plot([x for x, _ in there], y, lw=1.2, label=names[key], **look)
        axes.set_xticks(range(len(values)), [self.name(value) for value in values], fontsize=7.5)
        axes.margins(0.08)
