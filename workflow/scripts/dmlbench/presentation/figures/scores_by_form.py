"""Scores of folds concatenated and separated, loss by loss."""

from functools import cached_property

import pandas as pd
from matplotlib.figure import Figure

from dmlbench.errors import UserError
from dmlbench.presentation import style
from dmlbench.presentation._scores import printed_values
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import selected, with_unit
from dmlbench.statistics.summary import select, summarize
from dmlbench.values import Metric, Printed

NEEDS = "combined_folds"

FORMS = {"concatenated": "#cc3311", "separated": "#117733"}
"""Form of combined folds -> color."""


class ScoresByForm(Kind):
    """One panel for each data set, two bars for each loss, like musgrave2020's figure 3.

    A whisker is the 95% interval of the mean over seeds, a hollow diamond the printed number.

    Attributes:
        metric: what is drawn.
        printed: the printed numbers.
    """

    metric: Metric
    printed: Printed | None = None

    @cached_property
    def _values(self) -> dict[tuple, float]:
        return printed_values(self.printed, "dataset", "method", "fold", metric=self.metric)

    def __call__(self, scores: pd.DataFrame) -> Figure:
        """The figure of a study's scores of combined folds.

        Raises:
            UserError: no scores of combined folds.
        """
        shown = select(scores, selection=self.selection, metrics=[self.metric])
        shown = shown[shown.fold.isin(list(FORMS))]
        if shown.empty:
            raise UserError(f"no scores of {self.metric} of combined folds at {self.selection}")
        means = summarize(shown, ["dataset", "method", "fold"])
        datasets = list(dict.fromkeys(means.dataset))
        height = 1.0 + 2.1 * len(datasets)
        with style.house():
            figure = Figure(figsize=(1.6 + 0.75 * len(self.methods), height))
            grid = figure.subplots(len(datasets), 1, squeeze=False, sharex=True)[:, 0]
            for dataset, axes in zip(datasets, grid, strict=True):
                self._panel(axes, means[means.dataset == dataset])
                axes.set_ylabel(f"{self.name(dataset)}\n{with_unit(self.titles, self.metric)}")
            labels = [self.name(method) for method in self.methods]
            grid[-1].set_xticks(range(len(labels)), labels, rotation=30, ha="right", fontsize=8)
            top = {"x": 0.02, "ha": "left", "va": "top"}
            figure.suptitle(self.title, **top, y=1 - 0.08 / height, fontsize=11, fontweight="bold")
            note = f"{selected(self.selection)} Whisker: 95% interval over seeds."
            note += " Diamond: printed." if self._values else ""
            figure.text(0.02, 1 - 0.34 / height, note, va="top", color=style.SOFT, fontsize=8.5)
            figure.tight_layout(rect=(0, 0, 1, 1 - 0.5 / height))
            grid[0].legend(loc="upper left", bbox_to_anchor=(1, 1))
        return figure

    def _panel(self, axes, means: pd.DataFrame) -> None:
        at = {(row.method, row.fold): row for row in means.itertuples()}
        for side, (form, color) in zip((-0.2, 0.2), FORMS.items(), strict=True):
            places = [(x + side, at.get((m, form))) for x, m in enumerate(self.methods)]
            drawn = [(x, row) for x, row in places if row is not None]
            xs, heights = [x for x, _ in drawn], [row.mean for _, row in drawn]
            axes.bar(xs, heights, 0.37, color=style.tint(color, 0.75), label=f"folds {form}")
            whiskers = [row.half for _, row in drawn]
            axes.errorbar(xs, heights, whiskers, ls="", color=style.INK, lw=0.8, capsize=1.5)
            for x, row in drawn:
                key = (row.dataset, row.method, form)
                if key in self._values:
                    style.printed(axes, [x], [self._values[key]])
