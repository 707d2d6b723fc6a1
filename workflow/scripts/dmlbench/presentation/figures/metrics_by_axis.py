"""Metrics over an axis of variants, one line per metric."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dmlbench.errors import UserError
from dmlbench.evaluation.names import quantity
from dmlbench.presentation import _variants, style
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import with_unit
from dmlbench.statistics.summary import in_units, summarize
from dmlbench.values import Metric

NEEDS = "any_number_of_an_axis"

_LOOKS = (
    ("#332288", "o"),
    ("#44aa99", "s"),
    ("#ddaa33", "^"),
    ("#cc6677", "v"),
    ("#88ccee", "P"),
    ("#117733", "D"),
    ("#882255", "X"),
)


class MetricsByAxis(Kind):
    """Mean of each metric over seeds against the number in a variant, with its 95% interval.

    Intervals are Student's t over seeds; one seed has none. Each method has its own panel, except
    for those drawn over others (`over`), which are dashed lines without marks.

    Attributes:
        axis: the axis of the variants along x: `classes` for `classes=100`.
        metrics: what is drawn, in the order of the legend.
        panels: methods from left to right; None for all, in order of appearance.
        over: method -> the method into whose panel it is drawn.
        label: of the x axis; the axis's own name by default.
        log: whether x is logarithmic.
        role: which rows are drawn.
    """

    axis: str
    metrics: Sequence[Metric]
    panels: Sequence[str] | None = None
    over: Mapping[str, str] | None = None
    label: str | None = None
    log: bool = False
    role: Literal["train", "validation", "test"] = "test"

    def __call__(self, scores: pd.DataFrame) -> Figure:
        """The figure of a long table.

        Raises:
            UserError: no rows have this axis, these metrics and this role.
        """
        shown = self._shown(scores)
        methods = self.panels or dict.fromkeys(shown.method)
        panels = [method for method in methods if method not in (self.over or {})]
        with style.house():
            figure = Figure(figsize=(1.6 + 3.6 * len(panels), 3.9))
            all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
            for axes, panel in zip(all_axes, panels, strict=True):
                self._panel(axes, shown, panel)
                if len(panels) > 1:
                    axes.set_title(self.name(panel), fontsize=9, fontweight="normal", pad=4)
            all_axes[0].set_ylabel("%" if self._units() == {True} else "")
            seeds = int(shown.groupby(["method", "x", "metric"])["value"].size().max())
            figure.suptitle(self.title, x=0.02, ha="left", fontsize=11, fontweight="bold")
            label = self.label or self.axis.replace("_", " ")
            all_axes[0].set_xlabel(f"{label}   ({_caption(seeds)})")
            figure.tight_layout(rect=(0, 0, 1, 0.99))
            all_axes[-1].legend(loc="upper left", bbox_to_anchor=(1, 1))
        return figure

    def _shown(self, scores: pd.DataFrame) -> pd.DataFrame:
        kept = scores[scores.metric.isin(self.metrics) & (scores.role == self.role)]
        kept = kept.assign(x=pd.to_numeric(_variants.values_of(kept, self.axis), errors="coerce"))
        kept = kept.dropna(subset="x")
        if kept.empty:
            found = ", ".join(sorted(set(scores.variant))[:5])
            raise UserError(
                f"no scores of {', '.join(self.metrics)} have a variant {self.axis}=<number> and "
                f"role {self.role}; variants are, among others: {found or 'none'}"
            )
        return in_units(kept)

    def _units(self) -> set[bool]:
        """Whether metrics are shown in percent; both if some are and others are plain numbers."""
        return {quantity(metric).percent for metric in self.metrics}

    def _panel(self, axes, shown: pd.DataFrame, panel: str) -> None:
        over = [method for method, under in (self.over or {}).items() if under == panel]
        lines = {panel: "-"} | dict.fromkeys(over, "--")
        for method, dash in lines.items():
            for metric, (color, mark) in zip(self.metrics, _LOOKS, strict=False):
                rows = shown[(shown.method == method) & (shown.metric == metric)]
                if rows.empty:
                    continue
                place, middle, half = self._summary(rows)
                several = len(self._units()) > 1
                label = with_unit(self.titles, metric) if several else self.name(metric)
                if dash == "--":
                    label = f"{label}, {self.name(method)}"
                    axes.plot(place, middle, dash, color=color, lw=1.2, label=label)
                    continue
                axes.plot(place, middle, color=color, marker=mark, ms=4.5, lw=1.6, label=label)
                axes.fill_between(
                    place, middle - half, middle + half, color=color, alpha=0.18, lw=0
                )
        if self.log:
            axes.set_xscale("log")
            places = sorted(set(shown.x))
            axes.set_xticks(places, [f"{place:,g}" for place in places])
            axes.minorticks_off()

    def _summary(self, rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """x, mean and half the 95% interval (0 for one seed)."""
        found = summarize(rows, ["x"]).sort_values("x").fillna({"half": 0.0})
        return tuple(found[column].to_numpy() for column in ("x", "mean", "half"))


def _caption(seeds: int) -> str:
    return "one seed" if seeds == 1 else f"mean and 95% interval of {seeds} seeds"
