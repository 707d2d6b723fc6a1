"""The effect of each part of a training: scores relative to the best along each axis."""

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure

from dmlbench.presentation import _variants, style
from dmlbench.presentation._relative import means, relative
from dmlbench.presentation.kind import Kind
from dmlbench.values import RankingMetric

NEEDS = "values_of_axes"


class RelativeScores(Kind):
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

    @style.house()
    def __call__(self, scores: pd.DataFrame) -> Figure:
        summary = means(scores, self.selection)
        shares = {
            axis: relative(self._along(summary, axis), axis, self.metrics) for axis in self.axes
        }
        datasets = list(dict.fromkeys(summary.dataset))
        everything = pd.concat(shares.values())
        keys = zip(everything.method, everything.rest, strict=True)
        looks = style.looks(self.in_order(keys))
        figure = Figure(figsize=(2.0 + 2.5 * len(self.axes), 0.9 + 2.2 * len(datasets)))
        grid = figure.subplots(len(datasets), len(self.axes), squeeze=False, sharey="row")
        for dataset, row in zip(datasets, grid, strict=True):
            for axis, axes in zip(self.axes, row, strict=True):
                frame = shares[axis]
                self._panel(axes, frame[frame.dataset == dataset], looks)
            row[0].set_ylabel(f"{self.name(dataset)}\n% of the best")
        for axis, axes in zip(self.axes, grid[0], strict=True):
            style.heading(axes, self.name(axis))
        together = ", ".join(self.name(metric) for metric in self.metrics)
        note = f"{self.selected} Mean over {together}."
        style.head_of_panels(figure, self.title, note)
        style.legend(grid[0][-1], of=grid[0][0])
        return figure

    def _along(self, scores: pd.DataFrame, axis: str) -> pd.DataFrame:
        """Scores along an axis: the columns have their reference, and no other axis varies."""
        others = set(self.axes) - {axis}
        varied = scores.variant.map(lambda variant: bool(others & set(_variants.parts(variant))))
        kept = scores[~varied]
        for column, value in self.reference.items():
            if column != axis:
                kept = kept[kept[column].astype(str) == str(value)]
        if axis in self.reference:
            kept = kept[~kept.variant.map(lambda v: axis in _variants.parts(v))]
        return kept

    def _panel(self, axes, frame: pd.DataFrame, looks) -> None:
        values = _variants.in_order(frame["at"])
        names = self.legend(looks)
        for (method, rest), look in looks.items():
            of = frame[(frame.method == method) & (frame.rest == rest)]
            share = of.groupby("at", sort=False)["share"].mean()
            x = [place for place, value in enumerate(values) if value in share.index]
            y = [share[values[place]] for place in x]
            axes.plot(x, y, lw=1.2, label=names[method, rest], **look)
        axes.set_xticks(range(len(values)), [self.name(value) for value in values], fontsize=7.5)
        axes.margins(0.08)
