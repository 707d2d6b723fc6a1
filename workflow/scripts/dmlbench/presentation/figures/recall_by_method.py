"""Grouped bars: recall at every k, loss by loss."""

import textwrap
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dmlbench.evaluation.names import quantity
from dmlbench.presentation import style
from dmlbench.presentation._scores import pick, present, printed_values
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.numbers import brief
from dmlbench.values import Count, Metric, Printed

NEEDS = "one_family"

_HOLDS_A_NUMBER = 12
"""Percent above which a bar is high enough for its number."""

_LINE = 15
"""Letters after which a name breaks at the next space."""

_INCHES_A_LETTER = 0.072
"""Width of a letter in the names below the bars, spacing included."""


class RecallByMethod(Kind):
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

    @cached_property
    def _values(self) -> dict[tuple, float]:
        return printed_values(self.printed, "method", "metric", embedding_dim=self.embedding_dim)

    @style.house()
    def __call__(self, scores: pd.DataFrame) -> Figure:
        of_size = scores[scores.embedding_dim == self.embedding_dim]
        options = {"methods": self.everyone, "metrics": self.metrics}
        shown = pick(of_size, selection=self.selection, **options)
        last = pick(of_size, selection="last_epoch", **options)
        methods = present(shown, self.compared)
        labels = [_in_lines(self.name(m)) + self.year(m, "\n{}") for m in methods]
        longest = max(len(line) for label in labels for line in label.splitlines())
        width = max(0.92, _INCHES_A_LETTER * longest)
        figure = Figure(figsize=(max(6.0, 1.6 + width * len(methods)), 4.3))
        axes = figure.subplots()
        self._bars(axes, shown, last, methods)
        self._baseline(axes, shown, len(methods))
        recall = all(metric.startswith("recall_at_") for metric in self.metrics)
        bars = [self.name(m) if recall else self.with_unit(m) for m in self.metrics]
        style.head(axes, self.title, f"Bars: {', '.join(bars)}. {self._note()}")
        axes.set_ylabel("test images with a hit (%)" if recall else "")
        axes.set_xlim(-0.6, len(methods) - 0.4)
        if all(quantity(metric).percent for metric in self.metrics):
            axes.set_ylim(0, 100)
        axes.set_xticks(range(len(methods)), labels, fontsize=8)
        return figure

    def _bars(self, axes, shown, last, methods) -> None:
        width = 0.84 / len(self.metrics)
        strengths = np.linspace(1, 0.28, len(self.metrics))
        means = shown.pivot(index="method", columns="metric", values="mean")
        stds = shown.pivot(index="method", columns="metric", values="std")
        ends = last.pivot(index="method", columns="metric", values="mean")
        for group, method in enumerate(methods):
            for bar, metric in enumerate(self.metrics):
                x = group - 0.42 + (bar + 0.5) * width
                height = means.loc[method, metric]
                fill = style.tint(style.color(method), strengths[bar])
                axes.bar(x, height, width * 0.94, color=fill)
                if np.isfinite(stds.loc[method, metric]):
                    spread = stds.loc[method, metric]
                    axes.errorbar(x, height, spread, color=style.INK, lw=0.8, capsize=1.5)
                if (method, metric) in self._values:
                    style.printed(axes, [x], [self._values[method, metric]])
                if bar == 0:
                    self._first(axes, x, width, height, ends.loc[method, metric], fill)

    def _first(self, axes, x, width, height, end, fill) -> None:
        inside = quantity(self.metrics[0]).percent and height >= _HOLDS_A_NUMBER
        ink = style.legible_on(fill) if inside else style.INK
        look = {"ha": "center", "va": "bottom", "rotation": 90, "color": ink}
        text, at = brief(self.metrics[0], height), (x, 0 if inside else height)
        style.note_at(axes, text, at, (0, 5), fontsize=8, fontweight="bold", **look)
        if self.selection != "last_epoch":
            axes.hlines(end, x - width / 2, x + width / 2, color=style.INK, lw=1.4)

    def _baseline(self, axes, shown, groups) -> None:
        rows = shown[(shown.method == self.baseline) & (shown.metric == self.metrics[0])]
        for row in rows.itertuples():
            # Behind the bars, because they have numbers at their bases.
            axes.axhline(row.mean, color=style.INK, lw=0.9, ls=(0, (4, 3)), zorder=0.9)
            floor = brief(self.metrics[0], row.mean)
            text = f"{self.name(self.baseline)}\n{self.name(self.metrics[0])} {floor}"
            look = {"xycoords": ("axes fraction", "data"), "va": "center", "color": style.INK}
            style.note_at(axes, text, (1, row.mean), (6, 0), fontsize=8, **look)

    def _note(self) -> str:
        note = self.selected
        if self.selection != "last_epoch":
            note += " Black tick: last epoch."
        return f"{note} Diamond: printed." if self._values else note


def _in_lines(title: str) -> str:
    return textwrap.fill(title, _LINE, break_long_words=False)
