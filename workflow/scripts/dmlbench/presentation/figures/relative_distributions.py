"""The distributions of scores by value of an axis, over losses and metrics together."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from dmlbench.presentation import _variants, style
from dmlbench.presentation._relative import means, relative
from dmlbench.presentation._scores import placed_values
from dmlbench.presentation.kind import Kind
from dmlbench.values import Printed, RankingMetric

NEEDS = "values_of_axes"

_OURS, _THEIRS = "#4477aa", "#8a8f99"
_LABEL = "% of the best, all losses and metrics"


class RelativeDistributions(Kind):
    """One panel for each data set, one box for each value of an axis, like roth2020's figure 3.

    Each score is divided by the best of its loss and metric along the axis; a box holds the middle
    half of all losses and metrics at a value, its line is the median, its diamond the mean, its
    whiskers the range. Gray, thin boxes are of the printed numbers.

    Attributes:
        axis: an axis of the variants, such as `sampler`.
        metrics: the metrics that are combined.
        printed: the printed numbers.
    """

    axis: str
    metrics: Sequence[RankingMetric]
    printed: Printed | None = None

    @style.house()
    def __call__(self, scores: pd.DataFrame) -> Figure:
        shares = relative(means(scores, self.selection), self.axis, self.metrics)
        placed = placed_values(self.printed)
        printed = None if placed is None else relative(placed, self.axis, self.metrics)
        figure, panels = style.panels(
            shares.dataset, width=3.4, height=4.2, margin=1.2, sharey=True, label=_LABEL
        )
        for dataset, axes in panels.items():
            ours = shares[shares.dataset == dataset]
            values = list(dict.fromkeys(ours["at"]))
            _boxes(axes, ours, values, -0.15, _OURS, 0.3)
            if printed is not None:
                theirs = printed[printed.dataset == dataset]
                _boxes(axes, theirs, values, 0.2, _THEIRS, 0.14)
            labels = [_variants.label(self.titles, f"{self.axis}={value}") for value in values]
            short = [label.partition(" = ")[2] or label for label in labels]
            axes.set_xticks(range(len(values)), short, fontsize=8, rotation=45, ha="right")
            style.heading(axes, self.name(dataset))
        note = self.selected + ("" if printed is None else " Gray: printed.")
        style.head_of_panels(figure, self.title, note)
        return figure


def _boxes(axes, frame: pd.DataFrame, values, shift: float, color: str, width: float) -> None:
    groups = {
        place: frame.loc[frame["at"] == value, "share"].dropna()
        for place, value in enumerate(values)
    }
    groups = {place: shares for place, shares in groups.items() if len(shares)}
    if not groups:
        return
    axes.boxplot(
        list(groups.values()),
        positions=[place + shift for place in groups],
        widths=width,
        whis=(0, 100),
        showmeans=True,
        manage_ticks=False,
        patch_artist=True,
        boxprops={"facecolor": style.tint(color, 0.35), "edgecolor": color},
        medianprops={"color": color, "lw": 1.6},
        whiskerprops={"color": color},
        capprops={"color": color},
        meanprops={"marker": "D", "ms": 3.5, "mfc": color, "mec": "white", "mew": 0.5},
    )
