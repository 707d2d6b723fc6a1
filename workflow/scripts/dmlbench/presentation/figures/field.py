"""Fields: forces and regions in a plane, and matrices of correlations."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from dmlbench.errors import UserError, unknown
from dmlbench.presentation import style
from dmlbench.presentation._relative import means
from dmlbench.presentation._scores import placed_values
from dmlbench.presentation.figures._mark import Mark
from dmlbench.presentation.texts import minus, rounded
from dmlbench.values import Fact, Metric, Printed

_NAMES = "APN"
_COLORS = ("#332288", "#117733", "#cc6677")
_WIDTH = 8.4
"""Inches of a figure whose letters can be read on a page."""


class ForceField(Mark):
    """One panel per setting of `triplet_forces` or loss of `loss_forces`: arrows, or mined regions.

    Attributes:
        arrays: seed -> the arrays of that seed; they do not depend on it.
        figure: which one: `3_4`, `3_6` and `3_7` have arrows, `3_5` and `b_1` regions; `forces`, of
            `loss_forces`, has both, a panel for each loss; `2_5_a`, `2_5_b` and `b_1_d`, of
            `mined_regions`, have regions that are counted from 0, darker the larger.
        draws: arrows or regions; if not given, what the figure has, arrows first.
        columns: panels in a row.
        scale: length of an arrow of force 1, in units of the space.
    """

    arrays: Fact[Mapping[int, Mapping[str, np.ndarray]]]
    figure: str
    draws: Literal["arrows", "regions"] | None = None
    columns: int = 3
    scale: float = 0.2

    def draw(self, scores: pd.DataFrame) -> Figure:
        arrows = self._panels(f"arrows_{self.figure}_") if self.draws != "regions" else {}
        panels = arrows or self._panels(f"region_{self.figure}_")
        if not panels or (not arrows and self.draws == "arrows"):
            known = {"_".join(key.split("_")[1:3]) for key in self._first if "_" in key[:7]}
            raise unknown("figure of forces", self.figure, known)
        columns = min(self.columns, len(panels))
        lines, shared = range(-(-len(panels) // columns)), {"sharex": True, "sharey": True}
        side = min(2.7, _WIDTH / columns)
        size = (side, side + 0.1)
        figure, grid = style.grid(lines, range(columns), size=size, margin=(0, 0.5), **shared)
        draw = self._arrows if arrows else self._region
        for axes, panel in itertools.zip_longest(grid.values(), panels):
            if panel is None:
                axes.set_axis_off()
                continue
            draw(axes, panels[panel])
            style.heading(axes, self.name(panel))
            axes.set_aspect("equal")
            axes.grid(True, axis="both")
        if arrows:
            self._limits(grid[0, 0], arrows)
        figure.suptitle(self.title, x=0.02, ha="left", fontsize=11, fontweight="bold")
        figure.tight_layout()
        return figure

    @property
    def _first(self) -> Mapping[str, np.ndarray]:
        return self.arrays[min(self.arrays)]

    def _panels(self, prefix: str) -> dict[str, np.ndarray]:
        arrays = {key: array for key, array in self._first.items() if key.startswith(prefix)}
        return {key.removeprefix(prefix): array for key, array in arrays.items()}

    def _arrows(self, axes, array: np.ndarray) -> None:
        triangle = np.append(array[:, 0], array[:1, 0], axis=0)
        axes.plot(*triangle.T, color=style.BASELINE, lw=0.8, ls=":")
        for (place, force), label, color in zip(array, _NAMES, _COLORS, strict=True):
            tip = place + self.scale * force
            options = {"arrowstyle": "-|>", "color": color, "lw": 1.6, "shrinkA": 0, "shrinkB": 0}
            axes.annotate("", tip, place, arrowprops=options)
            self._point(axes, place, label, color)

    def _region(self, axes, array: np.ndarray) -> None:
        most = max(int(array.max()), 1)
        shades = [style.tint("#ddaa33", 0.55 * k / most) for k in range(most + 1)]
        axes.imshow(
            array,
            origin="lower",
            extent=self._first[f"extent_{self.figure}"],
            cmap=ListedColormap(shades),
            vmin=0,
            vmax=most,
            interpolation="nearest",
        )
        places = self._first[f"points_{self.figure}"]
        for place, label, color in zip(places, _NAMES, _COLORS, strict=False):
            if np.isfinite(place).all():
                self._point(axes, place, label, color)

    def _point(self, axes, place: np.ndarray, label: str, color: str) -> None:
        axes.plot(*place, marker="o", ms=5, color=color)
        style.note_at(axes, label, place, (4, 4), fontsize=9)

    def _limits(self, axes, arrows: Mapping[str, np.ndarray]) -> None:
        """Limits that contain every arrow of every panel, the same in all."""
        places = np.stack(list(arrows.values()))
        tips = places[:, :, 0] + self.scale * places[:, :, 1]
        everything = np.concatenate([places[:, :, 0], tips]).reshape(-1, 2)
        low, high = everything.min(0), everything.max(0)
        air = 0.08 * (high - low).max()
        axes.set_xlim(low[0] - air, high[0] + air)
        axes.set_ylim(low[1] - air, high[1] + air)


class MetricCorrelations(Mark):
    """One matrix per data set: Pearson's coefficients, ours below the diagonal, printed above.

    A point is a method with its variant, the mean over seeds, if it has all of the metrics.

    Attributes:
        metrics: rows and columns.
        printed: the printed numbers.
    """

    metrics: Sequence[Metric]
    printed: Printed | None = None

    def draw(self, scores: pd.DataFrame) -> Figure:
        summary, placed = means(scores, self.selection), placed_values(self.printed)
        labels = [self.name(metric) for metric in self.metrics]
        side = 0.9 + 0.5 * len(self.metrics)
        figure, panels = style.panels(summary.dataset, width=side, height=side + 0.7, margin=0.3)
        for dataset, axes in panels.items():
            shown = self._correlations(summary, dataset)
            if shown is None:
                raise UserError(
                    f"{dataset}: correlations of {', '.join(self.metrics)} need 3 points, each "
                    "a method and a variant"
                )
            theirs = None if placed is None else self._correlations(placed, dataset)
            above = np.triu_indices(len(shown))
            shown[above] = np.nan if theirs is None else theirs[above]
            np.fill_diagonal(shown, np.nan)
            _matrix(axes, shown)
            axes.set_xticks(range(len(labels)), labels, fontsize=7.5, rotation=45, ha="right")
            axes.set_yticks(range(len(labels)), labels, fontsize=7.5)
            style.heading(axes, self.name(dataset))
        printed = placed is not None and "Above the diagonal: of the printed numbers."
        return self.headed(figure, printed)

    def _correlations(self, frame: pd.DataFrame, dataset: str) -> np.ndarray | None:
        """Coefficients [M, M] over points with all metrics; None for fewer than three points."""
        of = frame[(frame.dataset == dataset) & (frame.method != self.baseline)]
        of = of[of.metric.isin(self.metrics)]
        wide = of.pivot_table(index=["method", "variant"], columns="metric", values="value")
        known = wide.reindex(columns=self.metrics).dropna(axis=1, how="all").dropna()
        if len(known) < 3:
            return None
        return known.corr().reindex(index=self.metrics, columns=self.metrics).to_numpy(copy=True)


def _matrix(axes, shown: np.ndarray) -> None:
    axes.imshow(shown, vmin=-1, vmax=1, cmap="PuOr_r")
    for (row, column), value in np.ndenumerate(shown):
        if np.isfinite(value):
            ink = "white" if abs(value) > 0.75 else style.INK
            look = {"ha": "center", "va": "center", "fontsize": 7, "color": ink}
            axes.text(column, row, minus(rounded(value, 2)), **look)
    style.blank(axes)
