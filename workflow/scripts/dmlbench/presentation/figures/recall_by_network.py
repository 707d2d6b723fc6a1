"""Recall with every network, loss by loss."""

from functools import cached_property

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dmlbench.errors import UserError
from dmlbench.presentation import style
from dmlbench.presentation._scores import pick, present, printed_values
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import selected, with_unit
from dmlbench.values import Metric, Printed

NEEDS = "one_family_of_each_network"

_LOOKS = (("#332288", "o"), ("#44aa99", "s"), ("#ddaa33", "^"), ("#cc6677", "v"), ("#88ccee", "P"))
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

    @cached_property
    def _values(self) -> dict[tuple, float]:
        return printed_values(self.printed, "metric", "embedding_dim", "network", "method")

    def __call__(self, scores: pd.DataFrame) -> Figure:
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
                self._marks(axes, frame, methods, place, self.titles[network])
                self._printed_marks(axes, network, size, methods, place)
            self._frame(axes, methods)
        return figure

    def _of(self, scores: pd.DataFrame, network: str) -> pd.DataFrame:
        return pick(
            scores[scores.network == network],
            methods=self.methods,
            metrics=[self.metric],
            selection=self.selection,
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
            at: self._values[key]
            for at, method in enumerate(methods)
            if (key := (self.metric, size, network, method)) in self._values
        }
        x = [at + _APART / 2 for at in values]
        style.printed(axes, x, list(values.values()), color=color, marker=marker)

    def _frame(self, axes, methods) -> None:
        note = selected(self.selection)
        style.head(axes, self.title, f"{note} Hollow: printed." if self._values else note)
        axes.set_ylabel(with_unit(self.titles, self.metric))
        axes.set_xlim(-0.6, len(methods) - 0.4)
        axes.margins(y=0.12)
        labels = [self.name(m) + self._year(m) for m in methods]
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
