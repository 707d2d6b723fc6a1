"""Which metrics agree: their correlations over the objectives."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dmlbench.errors import UserError
from dmlbench.presentation import style
from dmlbench.presentation._relative import means
from dmlbench.presentation.names import name, selected
from dmlbench.presentation.numbers import rounded
from dmlbench.values import Fact, Metric, Printed

NEEDS = "points_of_metrics"


class MetricCorrelations:
    """One matrix per data set: Pearson's coefficients, ours below the diagonal, printed above.

    A point is a method with its variant, the mean over seeds, if it has all of the metrics.

    Args:
        title: printed above the figure.
        metrics: rows and columns.
        selection: the selection rule of the scores.
        baseline: the method that is left out.
        printed: the printed numbers.
    """

    def __init__(
        self,
        *,
        title: Fact[str],
        metrics: Sequence[Metric],
        selection: Fact[str],
        baseline: Fact[str | None] = "untrained",
        printed: Printed | None = None,
    ):
        self.title = title
        self.metrics = list(metrics)
        self.selection = selection
        self.baseline = baseline
        self.printed = None
        if printed is not None:
            self.printed = printed[printed.why == ""].assign(value=printed.number)

    def __call__(self, scores: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
        """The figure of a study's scores.

        Raises:
            UserError: fewer than three points have two of the metrics.
        """
        summary = means(scores, self.selection)
        datasets = list(dict.fromkeys(summary.dataset))
        labels = [name(titles, metric) for metric in self.metrics]
        with style.house():
            side = 0.9 + 0.5 * len(self.metrics)
            figure = Figure(figsize=(side * len(datasets) + 0.3, side + 0.7))
            panels = figure.subplots(1, len(datasets), squeeze=False)[0]
            for dataset, axes in zip(datasets, panels, strict=True):
                ours = self._correlations(summary, dataset)
                if ours is None:
                    raise UserError(
                        f"{dataset}: correlations of {', '.join(self.metrics)} need 3 points"
                    )
                theirs = None
                if self.printed is not None:
                    theirs = self._correlations(self.printed, dataset)
                self._matrix(axes, ours, theirs)
                axes.set_xticks(range(len(labels)), labels, fontsize=7.5, rotation=45, ha="right")
                axes.set_yticks(range(len(labels)), labels, fontsize=7.5)
                axes.set_title(name(titles, dataset), fontsize=9, fontweight="normal", pad=5)
            figure.suptitle(self.title, x=0.02, ha="left", fontsize=11, fontweight="bold")
            figure.tight_layout(rect=(0, 0, 1, 0.92))
            above = (
                " Above the diagonal: of the printed numbers." if self.printed is not None else ""
            )
            figure.text(
                0.02, 0.905, selected(self.selection) + above, color=style.SOFT, fontsize=8.5
            )
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
