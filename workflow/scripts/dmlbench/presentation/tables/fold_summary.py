"""Mean and deviation over folds, method by method, next to the printed ones."""

from collections.abc import Mapping, Sequence

import pandas as pd

from dmlbench.presentation import _beside
from dmlbench.presentation.names import name, selected
from dmlbench.presentation.table import Row, Table
from dmlbench.statistics.aggregation import EXPERIMENT
from dmlbench.values import Fact, Metric, Printed


class FoldSummary:
    """Test scores of every method as mean and deviation over folds, like psomas2020's table 12.

    Args:
        id: the table's id, for labels and links.
        title: printed above the table.
        methods: rows, in the study's order.
        metrics: columns; percent, the higher the better.
        selection: the selection rule of the scores.
        printed: the printed means and deviations.
    """

    def __init__(
        self,
        *,
        id: Fact[str],
        title: Fact[str],
        methods: Fact[Sequence[str]],
        metrics: Sequence[Metric] = ("recall_at_1",),
        selection: Fact[str],
        printed: Printed,
    ):
        self.id = id
        self.title = title
        self.methods = list(methods)
        self.metrics = list(metrics)
        self.selection = selection
        self.printed = printed

    def __call__(self, scores: pd.DataFrame, titles: Mapping[str, str]) -> Table:
        """The table of the folds' scores on one data set with one network.

        Raises:
            UserError: no scores; several data sets, networks or sizes.
        """
        compared = _beside.next_to_printed(
            scores, self.printed, metrics=self.metrics, selection=self.selection
        )
        compared = compared[compared.fold == "mean"]
        _beside.check_single(compared, [name for name in EXPERIMENT if name != "fold"])
        intervals = _beside.has_intervals(compared)
        rows = {(row.method, row.metric): row for row in compared.itertuples()}
        columns = [
            column
            for metric in self.metrics
            for column in _beside.columns(metric, titles, intervals=intervals)
        ]
        shown = [
            Row(
                name(titles, method),
                tuple(
                    cell
                    for metric in self.metrics
                    for cell in _beside.cells(rows.get((method, metric)), intervals=intervals)
                ),
            )
            for method in dict.fromkeys([*self.methods, *compared.method])
        ]
        return Table(
            id=self.id,
            title=self.title,
            caption=(
                f"Test scores in percent, mean ± standard deviation over folds. "
                f"{selected(self.selection)} Best in bold, second best underlined."
            ),
            row_header="Loss",
            columns=tuple(columns),
            rows=tuple(shown),
            notes=(_OVER_FOLDS.format(compared.seeds.max()),) if intervals else (_ONE_FOLD,),
        )


_OVER_FOLDS = (
    "In 95 %: whether the printed mean lies where 95 % of means over {} folds fall that come from "
    "the distribution of ours (Welch, from both deviations)."
)
_ONE_FOLD = "One fold: the interval in which ours would allow the printed mean is unknown."
