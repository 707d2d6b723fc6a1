"""Spectra of singular values of the training images' embeddings, without a change and with it."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dmlbench.errors import UserError
from dmlbench.presentation import _variants, style
from dmlbench.presentation._relative import means
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import name
from dmlbench.presentation.numbers import brief
from dmlbench.values import Count, Fact, Metric

NEEDS = "spectra"

_WITHOUT, _WITH = "#4477aa", "#cc3311"


class SingularSpectra(Kind):
    """One panel for each data set and array (rows) and each method (columns).

    Lines are means over seeds of spectra divided by their sums, bands their standard deviations;
    the score of the test images is in the legend.

    Attributes:
        change: the parts of a variant that are the change, such as `[regularizer]`.
        spectra: arrays of a measure: `singular_values`, `class_singular_values`.
        first: how many singular values are drawn; all if not given.
        metric: the score in the legend.
        arrays: the file of a run's measure -> its arrays.
    """

    arrays: Fact[Mapping[str, Mapping[str, np.ndarray]]]
    change: Sequence[str]
    spectra: Sequence[Literal["singular_values", "class_singular_values"]] = ("singular_values",)
    first: Count | None = None
    metric: Metric = "recall_at_1"

    @cached_property
    def _found(self) -> dict[tuple[str, str, str], dict[int, Mapping[str, np.ndarray]]]:
        """(data set, method, variant) -> seed -> arrays."""
        of_run = {
            file.partition("/runs/")[2].partition("/measures/")[0]: arrays
            for file, arrays in self.arrays.items()
        }
        spectra = {}
        for row in self.rows:
            if row["run"] in of_run:
                key = (row["dataset"], row["method"], row["variant"])
                spectra.setdefault(key, {})[row["seed"]] = of_run[row["run"]]
        return spectra

    @style.house()
    def __call__(self, scores: pd.DataFrame) -> Figure:
        summary = means(scores, self.selection)
        score = {
            (row.dataset, row.method, row.variant): row.value
            for row in summary[summary.metric == self.metric].itertuples()
        }
        columns = dict.fromkeys(
            (method, _variants.without(v, self.change)) for _, method, v in self._found
        )
        lines = [
            (dataset, array)
            for dataset in dict.fromkeys(d for d, _, _ in self._found)
            for array in self.spectra
        ]
        if not lines:
            raise UserError("no spectra of these rows; allowed: rows of a view with measures")
        figure = Figure(figsize=(1.0 + 2.7 * len(columns), 0.8 + 2.3 * len(lines)))
        grid = figure.subplots(len(lines), len(columns), squeeze=False, sharey="row")
        for (dataset, array), row in zip(lines, grid, strict=True):
            for (method, variant), axes in zip(columns, row, strict=True):
                self._panel(axes, dataset, array, method, variant, score)
            row[0].set_ylabel(f"{self.name(dataset)}\n{name({}, array)}")
        for (method, variant), axes in zip(columns, grid[0], strict=True):
            label = self.labeled(method, variant)
            axes.set_title(label, fontsize=8.5, fontweight="normal", pad=5)
        note = f"{self.selected} Shares of the sum of all singular values."
        style.head_of_panels(figure, self.title, note)
        return figure

    def _panel(self, axes, dataset, array, method, variant, score) -> None:
        for key in self._found:
            if key[:2] != (dataset, method) or _variants.without(key[2], self.change) != variant:
                continue
            changed = key[2] != variant
            curves = np.array([self._curve(arrays, array) for arrays in self._found[key].values()])
            x, mean = np.arange(1, curves.shape[1] + 1), curves.mean(axis=0)
            color = _WITH if changed else _WITHOUT
            label = "with" if changed else "without"
            if key in score:
                label += f", {self.name(self.metric)} {brief(self.metric, score[key])}"
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
