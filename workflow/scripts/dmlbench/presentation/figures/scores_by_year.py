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
from dmlbench.presentation.names import points
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

    @style.house()
    def __call__(self, scores: pd.DataFrame) -> Figure:
        shown = select(scores, selection=self.selection, metrics=[self.metric])
        shown = shown[(shown.fold == (self.fold or "")) & shown.method.isin(self.dated)]
        if shown.empty:
            raise UserError(f"no scores of {self.metric} at {self.selection} with a year")
        means = summarize(shown, ["dataset", "method"])
        label = self.with_unit(self.metric)
        figure, panels = style.panels(means.dataset, width=3.0, height=3.6, margin=1.8, label=label)
        for dataset, axes in panels.items():
            self._panel(axes, means[means.dataset == dataset])
        note = f"{self.selected} Whisker: 95% interval over seeds."
        note += " Hollow: printed." if self._values else ""
        style.head_of_panels(figure, self.title, note)
        style.legend(axes)
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
            look = style.look(method)
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
        style.heading(axes, heading)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
