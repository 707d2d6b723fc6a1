"""Scores over the years in which the losses appeared."""

from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dmlbench.errors import UserError
from dmlbench.presentation import style
from dmlbench.presentation._scores import printed_values
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import points, selected, with_unit
from dmlbench.statistics.summary import select, summarize
from dmlbench.values import Metric, Printed

NEEDS = "dated_methods"

_APART = 0.13
"""Years between the marks of losses of one year."""


class ScoresByYear(Kind):
    """One panel for each data set, a mark for each loss, like musgrave2020's figure 4 (b).

    A whisker is the 95% interval of the mean over seeds, a hollow mark the printed number, the line
    the least-squares fit of the means over the years, its slope in the heading.

    Attributes:
        metric: what is drawn.
        fold: which scores of combined folds; None for runs without folds.
        printed: the printed numbers.
    """

    metric: Metric
    fold: Literal["concatenated", "separated"] | None = None
    printed: Printed | None = None

    @cached_property
    def _values(self) -> dict[tuple, float]:
        return printed_values(
            self.printed, "dataset", "method", metric=self.metric, fold=self.fold or ""
        )

    def __call__(self, scores: pd.DataFrame) -> Figure:
        """The figure of a study's scores.

        Raises:
            UserError: no scores fit.
        """
        shown = select(scores, selection=self.selection, metrics=[self.metric])
        shown = shown[(shown.fold == (self.fold or "")) & shown.method.isin(self.dated)]
        if shown.empty:
            raise UserError(f"no scores of {self.metric} at {self.selection} with a year")
        means = summarize(shown, ["dataset", "method"])
        datasets = list(dict.fromkeys(means.dataset))
        with style.house():
            figure = Figure(figsize=(1.8 + 3.0 * len(datasets), 3.6))
            grid = figure.subplots(1, len(datasets), squeeze=False)[0]
            for dataset, axes in zip(datasets, grid, strict=True):
                self._panel(axes, means[means.dataset == dataset])
            grid[0].set_ylabel(with_unit(self.titles, self.metric))
            figure.suptitle(self.title, x=0.02, y=0.985, ha="left", fontsize=11, fontweight="bold")
            note = f"{selected(self.selection)} Whisker: 95% interval over seeds."
            note += " Hollow: printed." if self._values else ""
            figure.text(0.02, 0.9, note, color=style.SOFT, fontsize=8.5)
            figure.tight_layout(rect=(0, 0, 1, 0.9))
            grid[-1].legend(loc="upper left", bbox_to_anchor=(1, 1))
        return figure

    def _panel(self, axes, means: pd.DataFrame) -> None:
        at = {row.method: row for row in means.itertuples()}
        there = [method for method in self.dated if method in at]
        years = np.array([self.years[method] for method in there], float)
        heights = np.array([at[method].mean for method in there])
        of_year: dict[int, int] = {}
        for method, year in zip(there, years, strict=True):
            place = of_year[year] = of_year.get(year, -1) + 1
            x, row = year + _APART * place, at[method]
            look = {"color": style.color(method), "marker": style.marker(method)}
            axes.errorbar(
                x, row.mean, row.half, ls="", ms=6, capsize=2, label=self.name(method), **look
            )
            printed = self._values.get((row.dataset, method))
            if printed is not None:
                axes.plot(x, printed, ls="", ms=6, mfc="white", **look)
        heading = self.name(means.dataset.iloc[0])
        if len(set(years)) > 1:
            slope, height = np.polyfit(years - years.mean(), heights, 1)
            ends = np.array([years.min(), years.max()])
            axes.plot(
                ends, height + slope * (ends - years.mean()), color=style.SOFT, lw=0.9, ls="--"
            )
            heading += f": {slope:+.2f}{points(self.metric)} a year"
        axes.set_title(heading, fontsize=9, fontweight="normal", pad=5)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
