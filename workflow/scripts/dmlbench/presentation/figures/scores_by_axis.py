"""Scores over an axis of the variants, one line per method, remaining variant and metric."""

from collections.abc import Mapping, Sequence
from typing import Literal

import pandas as pd
from matplotlib.figure import Figure

from dmlbench.evaluation.names import quantity
from dmlbench.presentation import style
from dmlbench.presentation._axis import along_axis
from dmlbench.presentation.kind import Kind
from dmlbench.statistics.summary import select, summarize
from dmlbench.values import Metric

NEEDS = "lines_along_an_axis"

_BANDS = {"half": "95% interval", "std": "standard deviation"}


class ScoresByAxis(Kind):
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

    @style.house()
    def __call__(self, scores: pd.DataFrame) -> Figure:
        which = {"selection": self.selection, "role": self.role, "metrics": self.metrics}
        means = along_axis(scores, axis=self.axis, change=self.change or (), **which)
        means["panel"] = means[self.panel].replace(self.over or {})
        lines = self.in_order(zip(means.method, means.rest, strict=True))
        names = self.legend(lines)
        known = self._one and set(means.method) <= style.PALETTE.keys()
        by_place = style.looks_by_place(lines if self._one else self.metrics)
        looks = style.looks(lines) if known else by_place
        percent = all(quantity(metric).percent for metric in self.metrics)
        several = "%" if percent else ""
        label = self.with_unit(self.metrics[0]) if self._one else several
        figure, panels = style.panels(means.panel, width=3.4, height=3.9, margin=1.8, label=label)
        for key, axes in panels.items():
            shown = means[means.panel == key]
            for line, rows in shown.groupby(["method", "rest", "metric"], sort=False):
                self._line(axes, rows.sort_values("x"), line, looks, names)
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
        style.head_of_panels(figure, self.title, self._note(means.seeds.max()))
        style.legend(axes)
        return figure

    def _line(self, axes, rows: pd.DataFrame, line: tuple[str, str, str], looks, names) -> None:
        method, rest, metric = line
        dashed = method in (self.over or {})
        look = {"lw": 1.4, "ms": 4.5, **looks[(method, rest) if self._one else metric]}
        label = names[method, rest]
        if not self._one:
            label = self.with_unit(metric) if self._mixed else self.name(metric)
            label += f", {self.name(method)}" if dashed else ""
        if dashed:
            look = {"lw": 1.2, "color": look["color"], "ls": "--"}
        axes.plot(rows.x, rows["mean"], label=label, **look)
        if rows[self.band].notna().any() and not dashed:
            style.band(axes, rows.x, rows["mean"], rows[self.band].fillna(0), look["color"])

    @property
    def _one(self) -> bool:
        return len(self.metrics) == 1

    @property
    def _mixed(self) -> bool:
        return len({quantity(metric).percent for metric in self.metrics}) > 1

    def _without(self, panels: Mapping, scores: pd.DataFrame, lines: Sequence, looks) -> None:
        """A dashed line across for each score without the change."""
        means = summarize(scores, ["dataset", "method", "variant", "metric"])
        for row in means.itertuples():
            line, panel = (row.method, row.variant), getattr(row, self.panel)
            if line in lines and panel in panels:
                color = looks[line if self._one else row.metric]["color"]
                panels[panel].axhline(row.mean, color=color, lw=1.2, ls=(0, (4, 3)))

    def _note(self, seeds: int) -> str:
        note = "One seed." if seeds == 1 else f"Mean and {_BANDS[self.band]} of {seeds} seeds."
        dashed = f"Dashed: without {' and '.join(self.change)}." if self.change else ""
        return " ".join(filter(None, [self.selected, note, dashed]))
