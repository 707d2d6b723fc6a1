"""Bars and boxes: scores side by side, of methods, forms of folds, or values of an axis."""

import itertools
import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dmlbench.errors import UserError
from dmlbench.evaluation.names import quantity
from dmlbench.presentation import _variants, style
from dmlbench.presentation._relative import means, relative
from dmlbench.presentation._scores import pick, placed_values, present, printed_values
from dmlbench.presentation.figures._mark import Mark
from dmlbench.presentation.texts import brief
from dmlbench.statistics.summary import select, summarize
from dmlbench.values import Count, Metric, Printed, RankingMetric

FORMS = {"concatenated": "#cc3311", "separated": "#117733"}
"""Form of combined folds -> color."""

_HOLDS_A_NUMBER = 12
"""Percent above which a bar is high enough for its number."""

_LINE = 15
"""Letters after which a name breaks at the next space."""

_INCHES_A_LETTER = 0.072
"""Width of a letter in the names below the bars, spacing included."""


class RecallByMethod(Mark):
    """R@k by loss in chronological order, one group of bars per loss, like psomas2020's figure 27.

    R@1 has the loss's full color, larger k lighter ones; a black tick marks R@1 at the last epoch
    if another epoch was selected, a whisker the standard deviation over seeds, a hollow diamond the
    printed number.

    Attributes:
        metrics: bars within a group; the first one is the main metric.
        embedding_dim: the embedding size to show.
        printed: the printed numbers, marked on the bars.
    """

    metrics: Sequence[Metric]
    embedding_dim: Count
    printed: Printed | None = None

    def draw(self, scores: pd.DataFrame) -> Figure:
        of_size = scores[scores.embedding_dim == self.embedding_dim]
        shown, last = (
            pick(of_size, selection=rule, methods=self.everyone, metrics=self.metrics)
            for rule in (self.selection, "last_epoch")
        )
        methods = present(shown, self.compared)
        lines = [textwrap.fill(self.name(m), _LINE, break_long_words=False) for m in methods]
        labels = [line + self.year(m, "\n{}") for line, m in zip(lines, methods, strict=True)]
        longest = max(len(line) for label in labels for line in label.splitlines())
        width = max(0.92, _INCHES_A_LETTER * longest)
        figure = Figure(figsize=(max(6.0, 1.6 + width * len(methods)), 4.3))
        axes = figure.subplots()
        printed = printed_values(self.printed, "method", "metric", embedding_dim=self.embedding_dim)
        self._bars(axes, shown, last, methods, printed)
        self._baseline(axes, shown)
        recall = all(metric.startswith("recall_at_") for metric in self.metrics)
        bars = [self.name(m) if recall else self.with_unit(m) for m in self.metrics]
        ticks = self.selection != "last_epoch" and "Black tick: last epoch."
        note = self.note(style.deviation(shown["std"]), ticks, printed and "Diamond: printed.")
        style.head(axes, self.title, f"Bars: {', '.join(bars)}. {note}")
        axes.set_ylabel("test images with a hit (%)" if recall else "")
        axes.set_xlim(-0.6, len(methods) - 0.4)
        if all(quantity(metric).percent for metric in self.metrics):
            axes.set_ylim(0, 100)
        axes.set_xticks(range(len(methods)), labels, fontsize=8)
        return figure

    def _bars(self, axes, shown, last, methods: Sequence[str], printed: Mapping) -> None:
        width = 0.84 / len(self.metrics)
        strengths = np.linspace(1, 0.28, len(self.metrics))
        keys = list(itertools.product(methods, self.metrics))
        rows, ends = (each.set_index(["method", "metric"]).reindex(keys) for each in (shown, last))
        for place, (key, row) in enumerate(rows.iterrows()):
            group, bar = divmod(place, len(self.metrics))
            x, height = group - 0.42 + (bar + 0.5) * width, row["mean"]
            fill = style.tint(style.color(key[0]), strengths[bar])
            axes.bar(x, height, width * 0.94, color=fill)
            if np.isfinite(row["std"]):
                axes.errorbar(x, height, row["std"], color=style.INK, lw=0.8, capsize=1.5)
            style.printed(axes, [x], [printed.get(key)])
            if bar == 0:
                self._number(axes, x, height, fill)
                if self.selection != "last_epoch":
                    ends_at = ends.loc[key, "mean"]
                    axes.hlines(ends_at, x - width / 2, x + width / 2, color=style.INK, lw=1.4)

    def _number(self, axes, x: float, height: float, fill) -> None:
        inside = quantity(self.metrics[0]).percent and height >= _HOLDS_A_NUMBER
        ink = style.legible_on(fill) if inside else style.INK
        look = {"ha": "center", "va": "bottom", "rotation": 90, "color": ink}
        text, at = brief(self.metrics[0], height), (x, 0 if inside else height)
        style.note_at(axes, text, at, (0, 5), fontsize=8, fontweight="bold", **look)

    def _baseline(self, axes, shown: pd.DataFrame) -> None:
        rows = shown[(shown.method == self.baseline) & (shown.metric == self.metrics[0])]
        for row in rows.itertuples():
            # Behind the bars, because they have numbers at their bases.
            axes.axhline(row.mean, color=style.INK, lw=0.9, ls=(0, (4, 3)), zorder=0.9)
            floor = brief(self.metrics[0], row.mean)
            text = f"{self.name(self.baseline)}\n{self.name(self.metrics[0])} {floor}"
            look = {"xycoords": ("axes fraction", "data"), "va": "center", "color": style.INK}
            style.note_at(axes, text, (1, row.mean), (6, 0), fontsize=8, **look)


class ScoresByForm(Mark):
    """One panel for each data set, two bars for each loss, like musgrave2020's figure 3.

    A whisker is the 95% interval of the mean over seeds, a hollow diamond the printed number.

    Attributes:
        metric: what is drawn.
        printed: the printed numbers.
    """

    metric: Metric
    printed: Printed | None = None

    def draw(self, scores: pd.DataFrame) -> Figure:
        shown = _of_forms(select(scores, selection=self.selection, metrics=[self.metric]))
        if shown.empty:
            raise UserError(
                f"no scores of {self.metric} of combined folds; allowed: rows with fold: "
                f"[{', '.join(FORMS)}]"
            )
        means = summarize(shown, ["dataset", "method", "fold"])
        size = (1.2 + 0.47 * len(self.methods), 2.1)
        figure, grid = style.grid(means.dataset, [""], size=size, margin=(0, 1.0), sharex=True)
        values = printed_values(self.printed, "dataset", "method", "fold", metric=self.metric)
        for (dataset, _), axes in grid.items():
            ours = means[means.dataset == dataset]
            printed = {key[1:]: value for key, value in values.items() if key[0] == dataset}
            _form_bars(axes, ours, "method", self.methods, printed)
            axes.set_ylabel(f"{self.name(dataset)}\n{self.with_unit(self.metric)}")
        labels = [self.name(method) for method in self.methods]
        axes.set_xticks(range(len(labels)), labels, rotation=30, ha="right", fontsize=8)
        legend = [grid[means.dataset.iloc[0], ""]]
        return self.headed(figure, style.INTERVAL, values and "Diamond: printed.", legend=legend)


class RelativeImprovement(Mark):
    """One panel for each reference, two bars for each data set, like musgrave2020's figure 5.

    A bar is the mean over all other losses of (score / the reference's score - 1), seed by seed; a
    whisker is the 95% interval of the mean over seeds, a hollow diamond what the printed numbers
    give.

    Attributes:
        references: the losses to compare with, a panel each.
        metric: what is compared.
        printed: the printed numbers.
    """

    references: Sequence[str]
    metric: RankingMetric
    printed: Printed | None = None

    def draw(self, scores: pd.DataFrame) -> Figure:
        ours = _of_forms(select(scores, selection=self.selection, metrics=[self.metric]))
        datasets = list(dict.fromkeys(ours.dataset))
        label = f"{self.name(self.metric)}, improvement (%)"
        figure, panels = style.panels(
            self.references, width=3.2, height=3.4, margin=1.8, sharey=True, label=label
        )
        for reference, axes in panels.items():
            means = summarize(improvements(ours, reference, self.metric), ["dataset", "fold"])
            _form_bars(axes, means, "dataset", datasets, self._printed(reference))
            axes.set_xticks(range(len(datasets)), [self.name(each) for each in datasets])
            style.heading(axes, f"over {self.name(reference)}")
            axes.axhline(0, color=style.INK, lw=0.8)
        printed = self.printed is not None and "Diamond: of the printed numbers."
        return self.headed(figure, "Mean over the other losses.", printed, legend=[axes])

    def _printed(self, reference: str) -> dict[tuple[str, str], float]:
        if self.printed is None:
            return {}
        numbers = placed_values(self.printed).query("metric == @self.metric").assign(seed=0)
        means = improvements(_of_forms(numbers), reference, self.metric)
        return means.set_index(["dataset", "fold"])["value"].to_dict()


def improvements(scores: pd.DataFrame, reference: str, metric: str) -> pd.DataFrame:
    """Mean improvement of all other methods over a reference, in percent of its score.

    Args:
        scores: dataset, fold, seed, method and value of the metric.

    Returns:
        Frame with dataset, fold, seed and value.

    Raises:
        UserError: no score of the reference, or no other.
    """
    keys = ["dataset", "fold", "seed"]
    wide = scores.pivot_table(index=keys, columns="method", values="value", sort=False)
    if reference not in wide or len(wide.columns) < 2:
        raise UserError(
            f"no scores of {reference} and of another method; allowed: both, with fold: "
            f"[{', '.join(FORMS)}]"
        )
    ratio = wide.drop(columns=reference).div(wide[reference], axis=0)
    sign = -1 if quantity(metric).better == "lower" else 1
    return (sign * 100 * (ratio.mean(axis=1) - 1)).rename("value").reset_index()


def _of_forms(scores: pd.DataFrame) -> pd.DataFrame:
    return scores[scores.fold.isin(list(FORMS))]


def _form_bars(
    axes, means: pd.DataFrame, by: str, keys: Sequence[str], printed: Mapping[tuple, float]
) -> None:
    """Two bars for each key, one per form of folds, with whiskers and the printed numbers.

    Args:
        means: rows of `summarize` with fold and the column `by`, which has the keys.
        printed: (key, form) -> printed number.
    """
    for side, (form, color) in zip((-0.2, 0.2), FORMS.items(), strict=True):
        rows = means[means.fold == form].set_index(by)
        there = {place + side: key for place, key in enumerate(keys) if key in rows.index}
        x, rows = list(there), rows.loc[list(there.values())]
        axes.bar(x, rows["mean"], 0.37, color=style.tint(color, 0.75), label=f"folds {form}")
        axes.errorbar(x, rows["mean"], rows["half"], ls="", color=style.INK, lw=0.8, capsize=2)
        style.printed(axes, x, [printed.get((key, form)) for key in there.values()])


class RelativeDistributions(Mark):
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

    def draw(self, scores: pd.DataFrame) -> Figure:
        ours, theirs = means(scores, self.selection), placed_values(self.printed)
        shares = [
            relative(each, self.axis, self.metrics) for each in (ours, theirs) if each is not None
        ]
        label = "% of the best, all losses and metrics"
        figure, panels = style.panels(
            shares[0].dataset, width=3.4, height=4.2, margin=1.2, sharey=True, label=label
        )
        looks = ((-0.15, "#4477aa", 0.3), (0.2, "#8a8f99", 0.14))
        for dataset, axes in panels.items():
            of = [each[each.dataset == dataset] for each in shares]
            values = list(dict.fromkeys(of[0]["at"]))
            for frame, look in zip(of, looks, strict=False):
                _boxes(axes, frame, values, *look)
            labels = [_variants.label(self.titles, f"{self.axis}={value}") for value in values]
            short = [label.partition(" = ")[2] or label for label in labels]
            axes.set_xticks(range(len(values)), short, fontsize=8, rotation=45, ha="right")
            style.heading(axes, self.name(dataset))
        return self.headed(figure, theirs is not None and "Gray: printed.")


def _boxes(axes, frame: pd.DataFrame, values, shift: float, color: str, width: float) -> None:
    shares = [frame.loc[frame["at"] == value, "share"].dropna() for value in values]
    groups = {place + shift: each for place, each in enumerate(shares) if len(each)}
    if not groups:
        return
    line = {"color": color}
    axes.boxplot(
        list(groups.values()),
        positions=list(groups),
        widths=width,
        whis=(0, 100),
        showmeans=True,
        manage_ticks=False,
        patch_artist=True,
        boxprops={"facecolor": style.tint(color, 0.35), "edgecolor": color},
        medianprops=line | {"lw": 1.6},
        whiskerprops=line,
        capprops=line,
        meanprops={"marker": "D", "ms": 3.5, "mfc": color, "mec": "white", "mew": 0.5},
    )
