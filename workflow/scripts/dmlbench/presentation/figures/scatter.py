"""Marks without lines: a score of each method and network, year, change, or other measure."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dmlbench.errors import UserError
from dmlbench.presentation import _variants, style
from dmlbench.presentation._points import points
from dmlbench.presentation._relative import means
from dmlbench.presentation._scores import pick, placed_values, present, printed_values
from dmlbench.presentation.figures._mark import Mark
from dmlbench.presentation.texts import minus, rounded
from dmlbench.presentation.texts import points as unit_of_differences
from dmlbench.statistics.correlation import correlate
from dmlbench.statistics.summary import select, summarize
from dmlbench.values import Metric, Printed

_APART = 0.2
"""Between the marks of our numbers and of the printed ones."""
_YEARS_APART = 0.13
"""Years between the marks of losses of one year."""


class RecallByNetwork(Mark):
    """R@1 by loss in chronological order, one mark per network, like psomas2020's figure 31.

    A whisker is the standard deviation over seeds, a hollow mark the printed number. Marks instead
    of bars, so that the axis need not begin at 0, where all networks look alike.

    Attributes:
        metric: what is drawn.
        printed: the printed numbers.
    """

    metric: Metric = "recall_at_1"
    printed: Printed | None = None

    def draw(self, scores: pd.DataFrame) -> Figure:
        which = {"metrics": [self.metric], "selection": self.selection, "along": "network"}
        picked = pick(scores, methods=self.methods, **which)
        best_first = picked.groupby("network")["mean"].mean().sort_values(ascending=False)
        methods, size = present(picked, self.methods), scores.embedding_dim.iloc[0]
        of = {"metric": self.metric, "embedding_dim": size}
        printed = printed_values(self.printed, "network", "method", **of)
        figure = Figure(figsize=(max(6.0, 1.6 + 0.92 * len(methods)), 4.3))
        axes = figure.subplots()
        for network, look in style.looks_by_place(best_first.index).items():
            rows = picked[picked.network == network].set_index("method").reindex(methods)
            x = np.arange(len(methods))
            style.whiskers(
                axes, x - _APART / 2, rows["mean"], rows["std"], label=self.name(network), **look
            )
            theirs = [printed.get((network, method)) for method in methods]
            style.printed(axes, x + _APART / 2, theirs, **look)
        labels = [self.name(method) + self.year(method, "\n{}") for method in methods]
        note = self.note(style.deviation(picked["std"]), printed and "Hollow: printed.")
        style.head(axes, self.title, note)
        axes.set_ylabel(self.with_unit(self.metric))
        axes.set_xlim(-0.6, len(methods) - 0.4)
        axes.margins(y=0.12)
        axes.set_xticks(range(len(methods)), labels, fontsize=8)
        style.legend(axes)
        return figure


class ScoresByYear(Mark):
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

    def draw(self, scores: pd.DataFrame) -> Figure:
        shown = select(scores, selection=self.selection, metrics=[self.metric])
        shown = shown[(shown.fold == (self.fold or "")) & shown.method.isin(self.dated)]
        if shown.empty:
            raise UserError(
                f"no scores of {self.metric} with fold {self.fold or 'none'} of methods with a year"
            )
        printed = printed_values(
            self.printed, "dataset", "method", metric=self.metric, fold=self.fold or ""
        )
        of_datasets = summarize(shown, ["dataset", "method"])
        label = self.with_unit(self.metric)
        figure, panels = style.panels(
            of_datasets.dataset, width=3.0, height=3.6, margin=1.8, label=label
        )
        for dataset, axes in panels.items():
            self._panel(axes, of_datasets[of_datasets.dataset == dataset], printed)
        return self.headed(figure, style.INTERVAL, printed and "Hollow: printed.", legend=[axes])

    def _panel(self, axes, shown: pd.DataFrame, printed: Mapping[tuple, float]) -> None:
        ours = shown.set_index("method").loc[present(shown, self.dated)]
        years = ours.index.map(self.years)
        x = years + _YEARS_APART * ours.groupby(years).cumcount()
        for method, at, row in zip(ours.index, x, ours.itertuples(), strict=True):
            look = {"ls": "", "ms": 6, **style.look(method)}
            label = self.name(method)
            axes.errorbar(at, row.mean, row.half, capsize=2, label=label, **look)
            if (row.dataset, method) in printed:
                axes.plot(at, printed[row.dataset, method], mfc="white", **look)
        heading = self.name(shown.dataset.iloc[0])
        if len(set(years)) > 1:
            middle, ends = years.to_numpy(float).mean(), np.array([years.min(), years.max()])
            slope, height = np.polyfit(years - middle, ours["mean"], 1)
            axes.plot(ends, height + slope * (ends - middle), color=style.SOFT, lw=0.9, ls="--")
            heading += f": {slope:+.2f}{unit_of_differences(self.metric)} a year"
        style.heading(axes, heading)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))


class ScoresWithChange(Mark):
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

    def draw(self, scores: pd.DataFrame) -> Figure:
        shown = self._keyed(means(scores, self.selection))
        if shown.empty:
            raise UserError(f"no scores of {self.metric} at {self.selection}")
        printed = self._keyed(placed_values(self.printed))
        rows = self._rows(shown)
        place = {row: number for number, row in enumerate(rows)}
        height = 1.1 + 0.3 * len(rows)
        figure, panels = style.panels(
            shown.dataset, width=2.6, height=height, margin=3.8, sharey=True
        )
        for dataset, axes in panels.items():
            for changed, color, lift in ((False, "#ee7733", -0.12), (True, "#117733", 0.12)):
                ours, theirs = (
                    _in_rows(each, dataset, changed, place) for each in (shown, printed)
                )
                label = f"{'with' if changed else 'without'} {' and '.join(self.change)}"
                look = {"marker": "o", "ms": 5, "mew": 0.5, "capsize": 1.5, "elinewidth": 0.9}
                style.whiskers(
                    axes,
                    ours["value"],
                    ours["y"] + lift,
                    ours["std"],
                    horizontal=True,
                    color=color,
                    label=label,
                    **look,
                )
                style.printed(axes, theirs["value"], theirs["y"] + lift + 0.14, color=color)
            axes.grid(axis="x")
            axes.margins(x=0.06)
            style.heading(axes, self.name(dataset))
            axes.set_xlabel(self.with_unit(self.metric))
        axes.set_yticks(range(len(rows)), [self.labeled(*row) for row in rows], fontsize=8)
        axes.invert_yaxis()
        hollow = not printed.empty and "Hollow: printed."
        return self.headed(figure, style.deviation(shown["std"]), hollow, legend=[axes])

    def _keyed(self, frame: pd.DataFrame | None) -> pd.DataFrame:
        """Scores of the metric with `row`, method and variant without the change, and `changed`."""
        if frame is None:
            return pd.DataFrame(columns=["dataset", "row", "changed", "value"])
        kept = frame[(frame.metric == self.metric) & (frame.method != self.baseline)]
        plain = kept.variant.map(lambda variant: _variants.without(variant, self.change))
        rows = list(zip(kept.method, plain, strict=True))
        return kept.assign(
            row=pd.Series(rows, kept.index, dtype=object), changed=kept.variant != plain
        )

    def _rows(self, shown: pd.DataFrame) -> list[tuple[str, str]]:
        plain = shown[~shown.changed]
        first = plain[plain.dataset == shown.dataset.iloc[0]]
        first = first.sort_values("value", ascending=False)
        return list(dict.fromkeys([*first.row, *plain.row]))


def _in_rows(frame: pd.DataFrame, dataset: str, changed: bool, place: Mapping) -> pd.DataFrame:
    """The scores of a data set, without the change or with it, with the number `y` of their row."""
    of = frame[(frame.dataset == dataset) & (frame.changed == changed)]
    return of.assign(y=of.row.map(place).astype(float)).dropna(subset="y")


class ScatterWithCorrelation(Mark):
    """One panel for each data set (rows) and measure (columns), its correlation above it.

    A mark is a method with its variant, the mean over seeds; whiskers are standard deviations.
    Each has its own color and mark (`style.looks`).

    Attributes:
        x: the metrics of the training images along x, one column of panels each.
        y: the metric of the test images along y.
    """

    x: Sequence[Metric]
    y: Metric = "recall_at_1"

    def draw(self, scores: pd.DataFrame) -> Figure:
        looks = style.looks(self.in_order(zip(scores.method, scores.variant, strict=True)))
        figure, grid = style.grid(scores.dataset, self.x, size=(3.2, 2.9), margin=(2.4, 0.9))
        datasets = list(dict.fromkeys(scores.dataset))
        for (dataset, x), axes in grid.items():
            self._panel(axes, scores[scores.dataset == dataset], x, looks)
            if x == self.x[0]:
                where = f"{self.name(dataset)}, " if len(datasets) > 1 else ""
                axes.set_ylabel(f"{where}{self.with_unit(self.y)}")
            if dataset == datasets[-1]:
                axes.set_xlabel(f"{self.with_unit(x)} of the training images")
        legend = [grid[datasets[0], self.x[-1]], grid[datasets[0], self.x[0]]]
        note = f"{style.DEVIATION} r: Pearson, with its 95 % bootstrap interval."
        return self.headed(figure, note, legend=legend)

    def _panel(self, axes, scores: pd.DataFrame, x: str, looks) -> None:
        measured = points(scores, x=x, y=self.y, selection=self.selection)
        rows = {(row.method, row.variant): row for row in measured.itertuples()}
        names = self.legend(looks)
        for key, look in looks.items():
            row = rows.get(key)
            where = ([row.x], [row.y]) if row else ([], [])
            spread = (row.y_std, row.x_std) if row and row.seeds > 1 else (None, None)
            axes.errorbar(*where, *spread, ls="", elinewidth=0.7, label=names[key], **look)
        r = correlate(measured.x, measured.y)
        pearson, low, high = (rounded(x, 2, sign="+") for x in (r.pearson, r.low, r.high))
        note = f"r = {pearson} [{low}, {high}], {r.points} points"
        style.heading(axes, minus(note), fontsize=8.5)
        axes.margins(0.1)
