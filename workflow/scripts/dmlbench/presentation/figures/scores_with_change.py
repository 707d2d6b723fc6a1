"""Scores of all objectives, without a change and with it."""

from collections.abc import Sequence
from functools import cached_property

import pandas as pd
from matplotlib.figure import Figure

from dmlbench.errors import UserError
from dmlbench.presentation import _variants, style
from dmlbench.presentation._relative import means
from dmlbench.presentation._scores import placed_values
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import selected, with_unit
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

    def __call__(self, scores: pd.DataFrame) -> Figure:
        """The figure of a study's scores.

        Raises:
            UserError: no scores of the metric.
        """
        shown = self._keyed(means(scores, self.selection))
        if shown.empty:
            raise UserError(f"no scores of {self.metric} at {self.selection}")
        datasets = list(dict.fromkeys(shown.dataset))
        rows = self._rows(shown, datasets[0])
        with style.house():
            height = 1.1 + 0.3 * len(rows)
            figure = Figure(figsize=(3.8 + 2.6 * len(datasets), height))
            panels = figure.subplots(1, len(datasets), squeeze=False, sharey=True)[0]
            for dataset, axes in zip(datasets, panels, strict=True):
                self._panel(axes, shown, dataset, rows)
                axes.set_title(self.name(dataset), fontsize=9, fontweight="normal", pad=5)
                axes.set_xlabel(with_unit(self.titles, self.metric))
            labels = [_variants.labeled(self.titles, *row) for row in rows]
            panels[0].set_yticks(range(len(rows)), labels, fontsize=8)
            panels[0].invert_yaxis()
            panels[-1].legend(loc="upper left", bbox_to_anchor=(1, 1))
            top = {"x": 0.02, "y": 1 - 0.08 / height, "ha": "left"}
            figure.suptitle(self.title, **top, fontsize=11, fontweight="bold")
            figure.tight_layout(rect=(0, 0, 1, 1 - 0.3 / height))
            note = selected(self.selection) + (
                " Hollow: printed." if self._placed is not None else ""
            )
            figure.text(0.02, 1 - 0.45 / height, note, color=style.SOFT, fontsize=8.5)
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
        for changed, color, label in ((False, WITHOUT, "without"), (True, WITH, "with")):
            of = shown[(shown.dataset == dataset) & (shown.changed == changed)]
            at = [place.get(key) for key in zip(of.method, of.row, strict=True)]
            of, at = of[[spot is not None for spot in at]], [s for s in at if s is not None]
            lift = 0.12 if changed else -0.12
            y = [spot + lift for spot in at]
            spread = of["std"] if of["std"].notna().any() else None
            title = f"{label} {' and '.join(self.change)}"
            axes.errorbar(
                of["value"], y, xerr=spread, ls="", marker="o", ms=5, color=color, mec="white",
                mew=0.5, elinewidth=0.9, capsize=1.5, label=title,
            )  # fmt: skip
            if self._placed is not None:
                theirs = self._placed[
                    (self._placed.dataset == dataset) & (self._placed.changed == changed)
                ]
                keys = zip(theirs.method, theirs.row, theirs["value"], strict=True)
                known = [(v, place[m, r]) for m, r, v in keys if (m, r) in place]
                x, below = [v for v, _ in known], [spot + lift + 0.14 for _, spot in known]
                style.printed(axes, x, below, color=color)
        axes.grid(axis="x")
        axes.margins(x=0.06)
