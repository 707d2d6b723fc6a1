"""Recall with every network, loss by loss."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dmlbench.presentation import style
from dmlbench.presentation._scores import pick, present, printed_values
from dmlbench.presentation.kind import Kind
from dmlbench.values import Metric, Printed

NEEDS = "one_family_of_networks"

_APART = 0.2


class RecallByNetwork(Kind):
    """R@1 by loss in chronological order, one mark per network, like psomas2020's figure 31.

    A whisker is the standard deviation over seeds, a hollow mark the printed number. Marks instead
    of bars, so that the axis need not begin at 0, where all networks look alike.

    Attributes:
        metric: what is drawn.
        printed: the printed numbers.
    """

    metric: Metric = "recall_at_1"
    printed: Printed | None = None

    @style.house()
    def __call__(self, scores: pd.DataFrame) -> Figure:
        which = {"metrics": [self.metric], "selection": self.selection}
        picked = pick(scores, methods=self.methods, along="network", **which)
        best_first = picked.groupby("network")["mean"].mean().sort_values(ascending=False)
        methods = present(picked, self.methods)
        printed = printed_values(
            self.printed,
            "network",
            "method",
            metric=self.metric,
            embedding_dim=scores.embedding_dim.iloc[0],
        )
        figure = Figure(figsize=(max(6.0, 1.6 + 0.92 * len(methods)), 4.3))
        axes = figure.subplots()
        for network, look in style.looks_by_place(best_first.index).items():
            rows = picked[picked.network == network].set_index("method").reindex(methods)
            spread = rows["std"] if rows["std"].notna().any() else None
            edge = {"mec": "white", "mew": 0.8, "elinewidth": 0.9, "capsize": 2, "ms": 7}
            x, label = np.arange(len(methods)) - _APART / 2, self.name(network)
            axes.errorbar(x, rows["mean"], spread, ls="", label=label, **look, **edge)
            keys = [(network, method) for method in methods]
            known = {at: printed[key] for at, key in enumerate(keys) if key in printed}
            x = [at + _APART / 2 for at in known]
            style.printed(axes, x, list(known.values()), **look)
        style.head(axes, self.title, self.selected + (" Hollow: printed." if printed else ""))
        axes.set_ylabel(self.with_unit(self.metric))
        axes.set_xlim(-0.6, len(methods) - 0.4)
        axes.margins(y=0.12)
        labels = [self.name(method) + self.year(method, "\n{}") for method in methods]
        axes.set_xticks(range(len(methods)), labels, fontsize=8)
        style.legend(axes)
        return figure
