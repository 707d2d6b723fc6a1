"""Which metrics agree: their correlations over the objectives."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dmlbench.errors import UserError
from dmlbench.presentation import style
from dmlbench.presentation._relative import means
from dmlbench.presentation._scores import placed_values
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.numbers import rounded
from dmlbench.values import Metric, Printed

NEEDS = "points_of_metrics"


class MetricCorrelations(Kind):
    """One matrix per data set: Pearson's coefficients, ours below the diagonal, printed above.

    A point is a method with its variant, the mean over seeds, if it has all of the metrics.

    Attributes:
        metrics: rows and columns.
        printed: the printed numbers.
    """

    metrics: Sequence[Metric]
    printed: Printed | None = None

    @style.house()
    def __call__(self, scores: pd.DataFrame) -> Figure:
        summary, placed = means(scores, self.selection), placed_values(self.printed)
        labels = [self.name(metric) for metric in self.metrics]
        side = 0.9 + 0.5 * len(self.metrics)
        figure, panels = style.panels(summary.dataset, width=side, height=side + 0.7, margin=0.3)
        for dataset, axes in panels.items():
            ours = self._correlations(summary, dataset)
            if ours is None:
                raise UserError(
                    f"{dataset}: correlations of {', '.join(self.metrics)} need 3 points"
                )
            theirs = None if placed is None else self._correlations(placed, dataset)
            self._matrix(axes, ours, theirs)
            axes.set_xticks(range(len(labels)), labels, fontsize=7.5, rotation=45, ha="right")
            axes.set_yticks(range(len(labels)), labels, fontsize=7.5)
            style.heading(axes, self.name(dataset))
        above = "" if placed is None else " Above the diagonal: of the printed numbers."
        style.head_of_panels(figure, self.title, self.selected + above)
        return figure

    def _correlations(self, frame: pd.DataFrame, dataset: str) -> np.ndarray | None:
        """Coefficients [M, M] over points with all metrics; None for fewer than three points."""
        of = frame[(frame.dataset == dataset) & (frame.method != self.baseline)]
        of = of[of.metric.isin(self.metrics)]
        wide = of.pivot_table(index=["method", "variant"], columns="metric", values="value")
        known = wide.reindex(columns=self.metrics).dropna(axis=1, how="all").dropna()
        if len(known) < 3:
            return None
        return known.corr().reindex(index=self.metrics, columns=self.metrics).to_numpy()

    def _matrix(self, axes, ours: np.ndarray, theirs: np.ndarray | None) -> None:
        shown = np.full_like(ours, np.nan)
        below = np.tril_indices(len(ours), -1)
        shown[below] = ours[below]
        if theirs is not None:
            shown[below[::-1]] = theirs[below[::-1]]
        axes.imshow(shown, vmin=-1, vmax=1, cmap="PuOr_r")
        for (row, column), value in np.ndenumerate(shown):
            if np.isfinite(value):
                ink = "white" if abs(value) > 0.75 else style.INK
                text = rounded(value, 2).replace("-", "\u2212")
                axes.text(column, row, text, ha="center", va="center", fontsize=7, color=ink)
        axes.grid(False)
        axes.spines["bottom"].set_visible(False)
