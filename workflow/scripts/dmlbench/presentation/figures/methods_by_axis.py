"""One line per method over an axis of the variants."""

from typing import Literal

import pandas as pd
from matplotlib.figure import Figure

from dmlbench.presentation import style
from dmlbench.presentation._axis import along_axis
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import with_unit

NEEDS = "numbers_of_an_axis"

_LOOKS = (("#332288", "o"), ("#ddaa33", "s"), ("#cc6677", "^"), ("#44aa99", "v"), ("#88ccee", "D"))


class MethodsByAxis(Kind):
    """Mean of one metric over seeds against the number of an axis, with its 95% interval.

    Intervals are Student's t over seeds; one seed has none.

    Attributes:
        axis: the axis of the variants along x: `projection` for `projection=5`.
        metric: any metric of the scores, also one of an experiment.
        label: of the y axis; the metric's own name by default.
        log: whether y is logarithmic.
        role: whose scores.
    """

    axis: str
    metric: str
    label: str | None = None
    log: bool = False
    role: Literal["train", "validation", "test"] = "test"

    def __call__(self, scores: pd.DataFrame) -> Figure:
        """The figure of a long table, methods in its order.

        Raises:
            UserError: no scores fit.
        """
        found = along_axis(scores, axis=self.axis, metric=self.metric, role=self.role)
        with style.house():
            figure = Figure(figsize=(6.4, 3.9))
            axes = figure.subplots()
            for place, (method, rows) in enumerate(found.groupby("method", sort=False)):
                color, mark = _LOOKS[place % len(_LOOKS)]
                rows = rows.sort_values("x")
                middle, half = rows["mean"], rows["half"].fillna(0)
                label = self.name(method)
                axes.plot(rows.x, middle, color=color, marker=mark, ms=3.5, lw=1.5, label=label)
                low, high = middle - half, middle + half
                axes.fill_between(rows.x, low, high, color=color, alpha=0.18, lw=0)
            if self.log:
                axes.set_yscale("log")
            axes.set_xlabel(self.name(self.axis))
            labels = {self.metric: self.label} if self.label else self.titles
            axes.set_ylabel(with_unit(labels, self.metric))
            axes.legend()
            seeds = found.seeds.max()
            note = "One seed." if seeds == 1 else f"Mean and 95% interval of {seeds} seeds."
            style.head(axes, self.title, note)
        return figure
