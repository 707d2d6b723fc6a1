"""Mean and deviation over folds, method by method, next to the printed ones."""

from collections.abc import Sequence

import pandas as pd

from dmlbench.plan.rows import EXPERIMENT
from dmlbench.presentation import _next_to_printed
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import in_percent
from dmlbench.presentation.table import Table, legend
from dmlbench.values import Metric, Printed

NEEDS = "folds_of_one_split"
_OVER_FOLDS = (
    "In 95 %: whether the printed mean lies where 95 % of means over {} folds fall that come from "
    "the distribution of ours (Welch, from both deviations)."
)
_ONE_FOLD = "One fold: the interval in which ours would allow the printed mean is unknown."


class FoldSummary(Kind):
    """Test scores of every method as mean and deviation over folds, like psomas2020's table 12.

    Attributes:
        metrics: columns.
        printed: the printed means and deviations.
    """

    metrics: Sequence[Metric] = ("recall_at_1",)
    printed: Printed

    def __call__(self, scores: pd.DataFrame) -> Table:
        which = {"metrics": self.metrics, "selection": self.selection}
        compared = _next_to_printed.next_to_printed(scores, self.printed, **which)
        compared = compared[compared.fold == "mean"]
        _next_to_printed.check_single(compared, [name for name in EXPERIMENT if name != "fold"])
        intervals = _next_to_printed.has_intervals(compared)
        methods = dict.fromkeys([*self.methods, *compared.method])
        style = {"intervals": intervals}
        columns, rows = _next_to_printed.grid(
            {(row.method, row.metric): row for row in compared.itertuples()},
            [(self.name(method), (method,)) for method in methods],
            {
                metric: _next_to_printed.columns(metric, self.titles, **style)
                for metric in self.metrics
            },
            **style,
        )
        caption = (
            f"Test scores{in_percent(self.titles, self.metrics)}, mean ± standard deviation "
            f"over folds. {self.selected}{legend(columns)}"
        )
        note = _OVER_FOLDS.format(compared.seeds.max()) if intervals else _ONE_FOLD
        return self.table("Loss", columns, rows, caption, [note])
