"""Recall with every network, loss by loss."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dmlbench.errors import UserError
from dmlbench.presentation import style
from dmlbench.presentation._scores import pick, present, printed_values
from dmlbench.presentation.names import name, selected
from dmlbench.values import Fact, Metric, Printed

NEEDS = "one_family_of_each_network"

_LOOKS = (("#332288", "o"), ("#44aa99", "s"), ("#ddaa33", "^"), ("#cc6677", "v"), ("#88ccee", "P"))
_APART = 0.2


class RecallByNetwork:
    """R@1 by loss in chronological order, one mark per network, like psomas2020's figure 31.

    A whisker is the standard deviation over seeds, a hollow mark the printed number. Marks instead
    of bars, so that the axis need not begin at 0, where all networks look alike.

    Args:
        title: printed above the figure.
        methods: columns from left to right, in the study's (chronological) order.
        metric: what is drawn.
        selection: the selection rule of the scores.
        years: method -> year of publication, printed below its name.
        printed: the printed numbers.
        dataset, split: which scores; None if the scores have only one.
    """

    def __init__(
        self,
        *,
        title: Fact[str],
        methods: Fact[Sequence[str]],
        metric: Metric = "recall_at_1",
        selection: Fact[str],
        years: Fact[Mapping[str, int] | None] = None,
        printed: Printed | None = None,
        dataset: str | None = None,
        split: str | None = None,
    ):
        self.title = title
        self.methods = list(methods)
        self.metric = metric
        self.selection = selection
        self.years = years or {}
        self.printed = printed_values(printed, "metric", "embedding_dim", "network", "method")
        self.where = {"dataset": dataset, "split": split}

    def __call__(self, scores: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
        """The figure of a study's scores of one embedding size.

        Raises:
            UserError: no scores fit, or more than one data set, split, embedding size or recipe
                does.
        """
        shown = {network: self._of(scores, network) for network in dict.fromkeys(scores.network)}
        shown = dict(sorted(shown.items(), key=lambda item: -item[1]["mean"].mean()))
        everything = pd.concat(shown.values())
        size = _only(everything.embedding_dim)
        methods = present(everything, self.methods)
        with style.house():
            figure = Figure(figsize=(max(6.0, 1.6 + 0.92 * len(methods)), 4.3))
            axes = figure.subplots()
            for place, (network, frame) in enumerate(shown.items()):
                self._marks(axes, frame, methods, place, titles[network])
                self._printed_marks(axes, network, size, methods, place)
            self._frame(axes, methods, titles)
        return figure

    def _of(self, scores: pd.DataFrame, network: str) -> pd.DataFrame:
        return pick(
            scores,
            methods=self.methods,
            metrics=[self.metric],
            selection=self.selection,
            network=network,
            **self.where,
        )

    def _marks(self, axes, frame: pd.DataFrame, methods, place: int, title: str) -> None:
        color, marker = _LOOKS[place % len(_LOOKS)]
        rows = frame.set_index("method").reindex(methods)
        spread = rows["std"] if rows["std"].notna().any() else None
        axes.errorbar(
            np.arange(len(methods)) - _APART / 2,
            rows["mean"],
            spread,
            ls="",
            marker=marker,
            ms=7,
            color=color,
            mec="white",
            mew=0.8,
            elinewidth=0.9,
            capsize=2,
            label=title,
        )

    def _printed_marks(self, axes, network: str, size: int, methods, place: int) -> None:
        color, marker = _LOOKS[place % len(_LOOKS)]
        values = {
            at: self.printed[key]
            for at, method in enumerate(methods)
            if (key := (self.metric, size, network, method)) in self.printed
        }
        x = [at + _APART / 2 for at in values]
        style.printed(axes, x, list(values.values()), color=color, marker=marker)

    def _frame(self, axes, methods, titles: Mapping[str, str]) -> None:
        note = selected(self.selection)
        style.head(axes, self.title, f"{note} Hollow: printed." if self.printed else note)
        axes.set_ylabel(f"{name(titles, self.metric)} (%)")
        axes.set_xlim(-0.6, len(methods) - 0.4)
        axes.margins(y=0.12)
        labels = [name(titles, m) + self._year(m) for m in methods]
        axes.set_xticks(range(len(methods)), labels, fontsize=8)
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))

    def _year(self, method: str) -> str:
        return f"\n{self.years[method]}" if method in self.years else ""


def _only(sizes: pd.Series) -> int:
    found = sorted(set(sizes))
    if len(found) > 1:
        named = ", ".join(map(str, found))
        raise UserError(f"the scores have several embedding sizes ({named}); allowed: one")
    return int(found[0])
