"""The distributions of scores by value of an axis, over losses and metrics together."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from dmlbench.presentation import _variants, style
from dmlbench.presentation._relative import means, relative
from dmlbench.presentation._scores import placed_values
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import selected
from dmlbench.values import Printed, RankingMetric

NEEDS = "values_of_axes"

_OURS, _THEIRS = "#4477aa", "#8a8f99"


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

    def __call__(self, scores: pd.DataFrame) -> Figure:
        """The figure of a study's scores.

        Raises:
            UserError: no scores along the axis.
        """
        found = relative(means(scores, self.selection), self.axis, self.metrics)
        placed = placed_values(self.printed)
        printed = None if placed is None else relative(placed, self.axis, self.metrics)
        datasets = list(dict.fromkeys(found.dataset))
        with style.house():
            figure = Figure(figsize=(1.2 + 3.4 * len(datasets), 4.2))
            panels = figure.subplots(1, len(datasets), squeeze=False, sharey=True)[0]
            for dataset, axes in zip(datasets, panels, strict=True):
                ours = found[found.dataset == dataset]
                values = list(dict.fromkeys(ours["at"]))
                _boxes(axes, ours, values, -0.15, _OURS, 0.3)
                if printed is not None:
                    theirs = printed[printed.dataset == dataset]
                    _boxes(axes, theirs, values, 0.2, _THEIRS, 0.14)
                labels = [_variants.label(self.titles, f"{self.axis}={value}") for value in values]
                short = [label.partition(" = ")[2] or label for label in labels]
                axes.set_xticks(range(len(values)), short, fontsize=8, rotation=45, ha="right")
                axes.set_title(self.name(dataset), fontsize=9, fontweight="normal", pad=5)
            panels[0].set_ylabel("% of the best, all losses and metrics")
            figure.suptitle(self.title, x=0.02, ha="left", fontsize=11, fontweight="bold")
            figure.tight_layout(rect=(0, 0, 1, 0.93))
            note = selected(self.selection) + (
                " Gray: printed." if self.printed is not None else ""
            )
            figure.text(0.02, 0.91, note, color=style.SOFT, fontsize=8.5)
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
