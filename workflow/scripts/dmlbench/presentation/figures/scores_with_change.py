"""Scores of all objectives, without a change and with it."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import pandas as pd
from matplotlib.figure import Figure

from dmlbench.errors import UserError
from dmlbench.presentation import _variants, style
from dmlbench.presentation._relative import means
from dmlbench.presentation._scores import placed_values
from dmlbench.presentation.kind import Kind
from dmlbench.values import Metric, Printed

WITHOUT, WITH = "#ee7733", "#117733"


class ScoresWithChange(Kind):
    """One row for each method and variant, one panel for each data set, like roth2020's figure 9.

    A mark is the mean over seeds, its whisker the standard deviation; hollow marks below are
    printed. Rows are in the order of the scores without the change on the first data set.

    Attributes:
        change: the parts of a variant that are the change, such as `[regularizer]`.
        metric: what is drawn.
        printed: the printed numbers.
    """

    change: Sequence[str]
    metric: Metric = "recall_at_1"
    printed: Printed | None = None

    @style.house()
    def __call__(self, scores: pd.DataFrame) -> Figure:
        shown = self._keyed(means(scores, self.selection))
        if shown.empty:
            raise UserError(f"no scores of {self.metric} at {self.selection}")
        datasets = list(dict.fromkeys(shown.dataset))
        rows = self._rows(shown, datasets[0])
        height = 1.1 + 0.3 * len(rows)
        figure, panels = style.panels(datasets, width=2.6, height=height, margin=3.8, sharey=True)
        for dataset, axes in panels.items():
            self._panel(axes, shown, dataset, rows)
            style.heading(axes, self.name(dataset))
            axes.set_xlabel(self.with_unit(self.metric))
        labels = [self.labeled(*row) for row in rows]
        axes.set_yticks(range(len(rows)), labels, fontsize=8)
        axes.invert_yaxis()
        note = self.selected + ("" if self._placed is None else " Hollow: printed.")
        style.head_of_panels(figure, self.title, note)
        style.legend(axes)
        return figure

    @cached_property
    def _placed(self) -> pd.DataFrame | None:
        """The printed numbers at their places in the rows; None if there are none."""
        placed = placed_values(self.printed)
        keyed = None if placed is None else self._keyed(placed)
        return None if keyed is None or keyed.empty else keyed

    def _keyed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Scores of the metric with `row`, the variant without the change, and `changed`."""
        kept = frame[(frame.metric == self.metric) & (frame.method != self.baseline)]
        row = [_variants.without(variant, self.change) for variant in kept.variant]
        return kept.assign(row=row, changed=kept.variant != pd.Series(row, kept.index, dtype=str))

    def _rows(self, shown: pd.DataFrame, dataset: str) -> list[tuple[str, str]]:
        plain = shown[~shown.changed]
        first = plain[plain.dataset == dataset].sort_values("value", ascending=False)
        everywhere = pd.concat([first, plain])
        return list(dict.fromkeys(zip(everywhere.method, everywhere.row, strict=True)))

    def _panel(self, axes, shown: pd.DataFrame, dataset: str, rows) -> None:
        place = {row: number for number, row in enumerate(rows)}
        for changed, color, lift in ((False, WITHOUT, -0.12), (True, WITH, 0.12)):
            ours = _in_rows(shown, dataset, changed, place)
            spread = ours["std"] if ours["std"].notna().any() else None
            label = f"{'with' if changed else 'without'} {' and '.join(self.change)}"
            look = {"marker": "o", "ms": 5, "mec": "white", "mew": 0.5, "elinewidth": 0.9}
            look |= {"ls": "", "color": color, "capsize": 1.5, "label": label}
            axes.errorbar(ours["value"], ours["y"] + lift, xerr=spread, **look)
            if self._placed is not None:
                theirs = _in_rows(self._placed, dataset, changed, place)
                style.printed(axes, theirs["value"], theirs["y"] + lift + 0.14, color=color)
        axes.grid(axis="x")
        axes.margins(x=0.06)


def _in_rows(frame: pd.DataFrame, dataset: str, changed: bool, place: Mapping) -> pd.DataFrame:
    """The scores of a data set, without the change or with it, with the number `y` of their row."""
    of = frame[(frame.dataset == dataset) & (frame.changed == changed)]
    y = [place.get(key) for key in zip(of.method, of.row, strict=True)]
    return of.assign(y=pd.Series(y, of.index, dtype=float)).dropna(subset="y")
