"""A score over an axis of the variants, data set by data set, next to the score without it."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from dmlbench.errors import UserError
from dmlbench.presentation import _variants, style
from dmlbench.presentation._relative import means
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import selected, with_unit
from dmlbench.values import Metric

NEEDS = "change_of_an_axis"


class ScoresOverAxis(Kind):
    """One panel per data set; dashed lines are without the change, like roth2020's figure 8.

    Marks are means over seeds, bands standard deviations.

    Attributes:
        axis: the axis of the variants along x: `p_switch`; its values are numbers.
        change: the parts of a variant that the dashed line lacks: `[regularizer, p_switch]`.
        metric: what is drawn.
    """

    axis: str
    change: Sequence[str]
    metric: Metric = "recall_at_1"

    def __call__(self, scores: pd.DataFrame) -> Figure:
        """The figure of a study's scores.

        Raises:
            UserError: no scores along the axis.
        """
        shown = means(scores, self.selection)
        shown = shown[shown.metric == self.metric]
        at = _variants.values_of(shown, self.axis)
        plain = [_variants.without(variant, self.change) for variant in shown.variant]
        shown = shown.assign(at=at, plain=plain)
        along = shown[shown["at"] != ""]
        if along.empty:
            raise UserError(f"no scores of {self.metric} along {self.axis}")
        along = along.assign(x=along["at"].astype(float)).sort_values("x")
        datasets = list(dict.fromkeys(along.dataset))
        keys = list(dict.fromkeys(zip(along.method, along.plain, strict=True)))
        with style.house():
            figure = Figure(figsize=(1.8 + 2.8 * len(datasets), 3.6))
            panels = figure.subplots(1, len(datasets), squeeze=False)[0]
            for dataset, axes in zip(datasets, panels, strict=True):
                for key, look in style.looks(keys).items():
                    self._line(axes, along, shown, dataset, key, look)
                axes.set_title(self.name(dataset), fontsize=9, fontweight="normal", pad=5)
                axes.set_xlabel(self.name(self.axis))
                axes.margins(0.08)
            panels[0].set_ylabel(with_unit(self.titles, self.metric))
            panels[-1].legend(loc="upper left", bbox_to_anchor=(1, 1))
            figure.suptitle(self.title, x=0.02, ha="left", fontsize=11, fontweight="bold")
            figure.tight_layout(rect=(0, 0, 1, 0.93))
            note = f"{selected(self.selection)} Dashed: without {' and '.join(self.change)}."
            figure.text(0.02, 0.9, note, color=style.SOFT, fontsize=8.5)
        return figure

    def _line(self, axes, along, shown, dataset: str, key, look) -> None:
        method, variant = key
        rows = along[
            (along.dataset == dataset) & (along.method == method) & (along.plain == variant)
        ]
        label = _variants.labeled(self.titles, method, variant)
        axes.plot(rows.x, rows["value"], lw=1.4, label=label, **look)
        if rows["std"].notna().any():
            low, high = rows["value"] - rows["std"], rows["value"] + rows["std"]
            axes.fill_between(rows.x, low, high, color=look["color"], alpha=0.18, lw=0)
        without = shown[
            (shown.dataset == dataset) & (shown.method == method) & (shown.variant == variant)
        ]
        for value in without["value"]:
            axes.axhline(value, color=look["color"], lw=1.2, ls=(0, (4, 3)))
