"""Arrays of runs and of experiments: spectra of singular values, and points of a plane."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dmlbench.errors import UserError, unknown
from dmlbench.evaluation.names import quantity
from dmlbench.presentation import _variants, style
from dmlbench.presentation._relative import means
from dmlbench.presentation.figures._mark import Mark
from dmlbench.presentation.texts import brief, name
from dmlbench.statistics.summary import in_units, summarize
from dmlbench.values import Count, Fact, Metric

_COLORS = ("#332288", "#ddaa33", "#44aa99", "#cc6677", "#88ccee", "#882255", "#117733", "#999933")

_MARKS = "os^vDPX*"


class SingularSpectra(Mark):
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

    def draw(self, scores: pd.DataFrame) -> Figure:
        found = self._found()
        if not found:
            raise UserError("no spectra of these rows; allowed: rows of a view with measures")
        summary = means(scores, self.selection).query("metric == @self.metric")
        score = summary.set_index(["dataset", "method", "variant"])["value"].to_dict()
        columns = [(method, _variants.without(v, self.change)) for _, method, v in found]
        lines = [(dataset, array) for dataset, _, _ in found for array in self.spectra]
        figure, grid = style.grid(lines, columns, size=(2.7, 2.3), margin=(1.0, 0.8))
        for ((dataset, array), (method, plain)), axes in grid.items():
            for (*of, variant), runs in found.items():
                if of == [dataset, method] and _variants.without(variant, self.change) == plain:
                    score_of = score.get((dataset, method, variant))
                    self._line(axes, array, runs, score_of, changed=variant != plain)
            axes.set_yscale("log")
            axes.legend(fontsize=7, loc="upper right")
            if (method, plain) == columns[0]:
                axes.set_ylabel(f"{self.name(dataset)}\n{name({}, array)}")
            if (dataset, array) == lines[0]:
                style.heading(axes, self.labeled(method, plain), fontsize=8.5)
        return self.headed(figure, "Shares of the sum of all singular values.")

    def _found(self) -> dict[tuple[str, str, str], list[Mapping[str, np.ndarray]]]:
        """(data set, method, variant) -> arrays of its seeds."""
        of_run = {
            file.partition("/runs/")[2].partition("/measures/")[0]: arrays
            for file, arrays in self.arrays.items()
        }
        spectra = {}
        for row in self.rows:
            if row["run"] in of_run:
                key = (row["dataset"], row["method"], row["variant"])
                spectra.setdefault(key, {})[row["seed"]] = of_run[row["run"]]
        return {key: list(by_seed.values()) for key, by_seed in spectra.items()}

    def _line(self, axes, array: str, runs, score: float | None, *, changed: bool) -> None:
        curves = np.array([self._curve(arrays, array) for arrays in runs])
        x, mean = np.arange(1, curves.shape[1] + 1), curves.mean(axis=0)
        color, label = ("#cc3311", "with") if changed else ("#4477aa", "without")
        if score is not None:
            label += f", {self.name(self.metric)} {brief(self.metric, score)}"
        axes.plot(x, mean, color=color, lw=1.5, label=label)
        if len(curves) > 1:
            off = curves.std(axis=0, ddof=1)
            low = np.maximum(mean - off, 0.2 * mean)
            axes.fill_between(x, low, mean + off, color=color, alpha=0.18, lw=0)

    def _curve(self, arrays: Mapping[str, np.ndarray], array: str) -> np.ndarray:
        key = f"{self.selection}/{array}"
        if key not in arrays:
            raise UserError(f"no array {key}; allowed: {', '.join(sorted(arrays))}")
        values = np.asarray(arrays[key], dtype=np.float64)
        return (values / values.sum())[: self.first]


class PointSpaces(Mark):
    """One panel per space of two dimensions, its points colored by class, its scores below it.

    Attributes:
        spaces: from left to right: `array`, the name of the points [N, 2]; `title`; `where`, the
            columns of the long table (method, variant, role) that select the scores below the
            panel; no scores without it.
        metrics: the scores below a panel, means over seeds; none if not given.
        circle: whether to draw the unit circle.
        arrays: seed -> the arrays of that seed, with `labels`, the class of each point, [N]; the
            points of the first seed are drawn.
    """

    arrays: Fact[Mapping[int, Mapping[str, np.ndarray]]]
    spaces: Sequence[Mapping[Literal["array", "title", "where"], str | Mapping[str, str]]]
    metrics: Sequence[Metric] | None = None
    circle: bool = False

    def draw(self, scores: pd.DataFrame) -> Figure:
        first = min(self.arrays)
        arrays = self.arrays[first]
        for space in self.spaces:
            if space["array"] not in arrays:
                raise unknown("array of a figure", space["array"], arrays)
        height = 3.1 + 0.2 * len(self.metrics or ())
        figure, panels = style.panels(range(len(self.spaces)), width=2.6, height=height, margin=0.4)
        for space, axes in zip(self.spaces, panels.values(), strict=True):
            self._points(axes, arrays[space["array"]], arrays["labels"])
            style.heading(axes, space["title"])
            text = "\n".join(self._lines(scores, space.get("where")))
            look = {"ha": "center", "va": "top", "fontsize": 8.5, "linespacing": 1.5}
            axes.text(0.5, -0.06, text, transform=axes.transAxes, **look)
        note = f"Points of seed {first}"
        if self.metrics:
            seeds = scores["seed"].nunique()
            note += f"; scores are {'its' if seeds == 1 else f'means of {seeds} seeds'}"
        style.head_of_panels(figure, self.title, f"{note}.")
        return figure

    def _points(self, axes, places: np.ndarray, labels: np.ndarray) -> None:
        if self.circle and np.allclose(np.linalg.norm(places, axis=1), 1, atol=1e-3):
            angle = np.linspace(0, 2 * np.pi, 361)
            axes.plot(np.cos(angle), np.sin(angle), color=style.GRID, lw=1, zorder=0)
        for number, label in enumerate(np.unique(labels)):
            look = {"color": _COLORS[number % 8], "marker": _MARKS[number % 8]}
            axes.scatter(*places[labels == label].T, s=14, alpha=0.75, lw=0, **look)
        axes.set_aspect("equal", adjustable="datalim")
        axes.set(xticks=[], yticks=[])
        style.blank(axes)

    def _lines(self, scores: pd.DataFrame, where: Mapping | None) -> list[str]:
        if where is None:
            return []
        for column, value in where.items():
            scores = scores[scores[column] == value]
        found = summarize(in_units(scores), ["metric"]).set_index("metric")["mean"]
        return [
            f"{self.name(metric)}  {brief(metric, found[metric])}{quantity(metric).unit}"
            for metric in self.metrics or ()
        ]
