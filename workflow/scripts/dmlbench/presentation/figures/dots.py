"""Dots with whiskers in rows: how far losses are from their mean, cell by cell."""

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dmlbench.evaluation.names import quantity
from dmlbench.presentation import style
from dmlbench.presentation._orders import by_metric
from dmlbench.presentation.figures._mark import Mark
from dmlbench.statistics.order_means import in_cells, over_cells
from dmlbench.values import Metric

_ALL = ""
"""The panel of all cells; the others have the names of data sets."""

_LINE = 17
"""Letters after which a name breaks at the next space: those of a panel's width."""

_BAND = 0.5
"""Share of a row's height that the marks of the networks take."""


class LossesOverCells(Mark):
    """One row per loss, the best mean first; a panel for all cells, and one per data set.

    A mark is the mean over splits less that of all losses; in the panel of a data set there is one
    per network. Whiskers are 95% intervals: of all cells for other networks and data sets, of one
    cell for other classes. A mark is filled where its interval excludes 0.

    Attributes:
        metric: what is drawn.
    """

    metric: Metric = "recall_at_1"

    def draw(self, scores: pd.DataFrame) -> Figure:
        table = by_metric(self, scores, [self.metric])[self.metric]
        lower = quantity(self.metric).better == "lower"
        means = over_cells(table).sort_values("value", ascending=lower, kind="stable")
        cells = in_cells(table)
        datasets = list(dict.fromkeys(cells.dataset))
        figure, panels = style.panels(
            [_ALL, *datasets],
            width=1.5,
            height=1.7 + 0.3 * len(means),
            margin=1.4,
            sharex=True,
            sharey=True,
        )
        self._rows(panels[_ALL], means.index)
        whole = means.assign(half=means["high"] - means["value"])
        _marks(panels[_ALL], whole, 0.0, {"color": style.INK, "marker": "D"})
        looks = style.looks_by_place(dict.fromkeys(cells.network))
        for dataset in datasets:
            of = cells[cells.dataset == dataset].set_index(["network", "method"])
            self._cells(panels[dataset], of, means.index, looks)
            style.heading(panels[dataset], self._broken(dataset))
            panels[dataset].set_xlabel("for other classes", color=style.SOFT)
        unit = ", in points" if quantity(self.metric).percent else ""
        self.headed(
            figure,
            f"{self.name(self.metric)} less the mean of all losses{unit}, with 95% intervals; "
            "filled: 0 is excluded.",
        )
        handles = panels[datasets[0]].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower right", ncols=len(looks), borderaxespad=0.1)
        return figure

    def _broken(self, key: str) -> str:
        return textwrap.fill(self.name(key), _LINE, break_long_words=False)

    def _rows(self, axes, methods: Sequence[str]) -> None:
        names = [self._broken(method) for method in methods]
        axes.set_yticks(range(len(names)), names, color=style.INK)
        axes.set_ylim(len(names) - 0.5, -0.5)
        style.heading(axes, "All cells")
        axes.set_xlabel("for other networks\nand data sets", color=style.SOFT)

    def _cells(
        self, axes, cells: pd.DataFrame, methods: Sequence[str], looks: Mapping[str, dict]
    ) -> None:
        offsets = np.linspace(-_BAND / 2, _BAND / 2, len(looks)) if len(looks) > 1 else [0.0]
        for (network, look), offset in zip(looks.items(), offsets, strict=True):
            _marks(axes, cells.loc[network].reindex(methods), offset, look)
            style.whiskers(axes, [], [], pd.Series(), label=self.name(network), **look)


def _marks(axes, rows: pd.DataFrame, offset: float, look: Mapping[str, str]) -> None:
    """The mark of each row, filled if its interval excludes 0, and the line at 0."""
    heights = np.arange(len(rows)) + offset
    sure = (rows["value"].abs() > rows["half"]).to_numpy()
    for filled in (True, False):
        kept = sure == filled
        fill = {"mfc": look["color"] if filled else "white", "mec": look["color"], "mew": 1.1}
        values, half = rows["value"][kept], rows["half"][kept]
        style.whiskers(axes, values, heights[kept], half, horizontal=True, ms=5, **look, **fill)
    axes.axvline(0, color=style.SOFT, lw=0.8, zorder=0)
