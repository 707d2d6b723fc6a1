"""Spectra of singular values of the training images' embeddings, without a change and with it."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dmlbench.errors import UserError
from dmlbench.presentation import _variants, style
from dmlbench.presentation._relative import means
from dmlbench.presentation.names import name, selected
from dmlbench.presentation.numbers import rounded
from dmlbench.values import Count, Fact, Metric

_WITHOUT, _WITH = "#4477aa", "#cc3311"


class SingularSpectra:
    """One panel for each data set and array (rows) and each method (columns).

    Lines are means over seeds of spectra divided by their sums, bands their standard deviations;
    the score of the test images is in the legend.

    Args:
        title: printed above the figure.
        change: the parts of a variant that are the change, such as `[regularizer]`.
        spectra: arrays of a measure: `singular_values`, `class_singular_values`.
        first: how many singular values are drawn; all if not given.
        metric: the score in the legend.
        selection: the selection rule of embeddings and scores.
        rows: the rows behind the arrays, with the folders of their runs.
        arrays: the file of a run's measure -> its arrays.
    """

    def __init__(
        self,
        arrays: Mapping[str, Mapping[str, np.ndarray]],
        *,
        title: Fact[str],
        change: Sequence[str],
        spectra: Sequence[Literal["singular_values", "class_singular_values"]] = (
            "singular_values",
        ),
        first: Count | None = None,
        metric: Metric = "recall_at_1",
        selection: Fact[str],
        rows: Fact[Sequence[Mapping]],
    ):
        self.title = title
        self.change = tuple(change)
        self.spectra = list(spectra)
        self.first = first
        self.metric = metric
        self.selection = selection
        of_run = {
            str(key).partition("/runs/")[2].partition("/measures/")[0]: a
            for key, a in arrays.items()
        }
        self.found: dict[tuple[str, str, str], dict[int, Mapping[str, np.ndarray]]] = {}
        for row in rows:
            if row["run"] in of_run:
                key = (row["dataset"], row["method"], row["variant"])
                self.found.setdefault(key, {})[row["seed"]] = of_run[row["run"]]

    def __call__(self, scores: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
        """The figure of a study's measures and scores.

        Raises:
            UserError: no arrays of these names.
        """
        summary = means(scores, self.selection)
        score = {
            (row.dataset, row.method, row.variant): row.value
            for row in summary[summary.metric == self.metric].itertuples()
        }
        columns = dict.fromkeys(
            (method, _variants.without(v, self.change)) for _, method, v in self.found
        )
        lines = [
            (dataset, array)
            for dataset in dict.fromkeys(d for d, _, _ in self.found)
            for array in self.spectra
        ]
        if not lines:
            raise UserError("no spectra of these rows; allowed: rows of a view with measures")
        with style.house():
            figure = Figure(figsize=(1.0 + 2.7 * len(columns), 0.8 + 2.3 * len(lines)))
            grid = figure.subplots(len(lines), len(columns), squeeze=False, sharey="row")
            for (dataset, array), row in zip(lines, grid, strict=True):
                for (method, variant), axes in zip(columns, row, strict=True):
                    self._panel(axes, dataset, array, method, variant, score, titles)
                row[0].set_ylabel(f"{name(titles, dataset)}\n{name({}, array)}")
            for (method, variant), axes in zip(columns, grid[0], strict=True):
                label = _variants.labeled(titles, method, variant)
                axes.set_title(label, fontsize=8.5, fontweight="normal", pad=5)
            note = f"{selected(self.selection)} Shares of the sum of all singular values."
            style.head_of_panels(figure, self.title, note)
        return figure

    def _panel(self, axes, dataset, array, method, variant, score, titles) -> None:
        for key in self.found:
            if key[:2] != (dataset, method) or _variants.without(key[2], self.change) != variant:
                continue
            changed = key[2] != variant
            curves = np.array([self._curve(arrays, array) for arrays in self.found[key].values()])
            x, mean = np.arange(1, curves.shape[1] + 1), curves.mean(axis=0)
            color = _WITH if changed else _WITHOUT
            label = "with" if changed else "without"
            if key in score:
                label += f", {name(titles, self.metric)} {rounded(score[key], 1)}"
            axes.plot(x, mean, color=color, lw=1.5, label=label)
            if len(curves) > 1:
                off = curves.std(axis=0, ddof=1)
                low = np.maximum(mean - off, 0.2 * mean)
                axes.fill_between(x, low, mean + off, color=color, alpha=0.18, lw=0)
        axes.set_yscale("log")
        axes.legend(fontsize=7, loc="upper right")

    def _curve(self, arrays: Mapping[str, np.ndarray], array: str) -> np.ndarray:
        key = f"{self.selection}/{array}"
        if key not in arrays:
            raise UserError(f"no array {key}; allowed: {', '.join(sorted(arrays))}")
        values = np.asarray(arrays[key], dtype=np.float64)
        return (values / values.sum())[: self.first]
