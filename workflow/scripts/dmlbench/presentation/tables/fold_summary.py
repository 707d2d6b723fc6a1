"""Mean and deviation over folds, method by method, next to the printed ones."""

from collections.abc import Sequence

import pandas as pd

from dmlbench.presentation import _beside
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import in_percent, selected
from dmlbench.presentation.table import Row, Table, legend
from dmlbench.values import Metric, Printed

NEEDS = "folds_of_one_split"


class FoldSummary(Kind):
    """Test scores of every method as mean and deviation over folds, like psomas2020's table 12.

    Attributes:
        metrics: columns.
        printed: the printed means and deviations.
    """

    metrics: Sequence[Metric] = ("recall_at_1",)
    printed: Printed

    def __call__(self, scores: pd.DataFrame) -> Table:
        """The table of the folds' scores on one data set with one network.

        Raises:
            UserError: no scores; several data sets, networks or sizes.
        """
        compared = _beside.next_to_printed(
            scores, self.printed, metrics=self.metrics, selection=self.selection
        )
        compared = compared[compared.fold == "mean"]
        _beside.check_single(compared, ("dataset", "network", "embedding_dim", "split"))
        intervals = _beside.has_intervals(compared)
        rows = {(row.method, row.metric): row for row in compared.itertuples()}
        columns = [
            column
            for metric in self.metrics
            for column in _beside.columns(metric, self.titles, intervals=intervals)
        ]
        shown = [
            Row(
                self.name(method),
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
                f"Test scores{in_percent(self.titles, self.metrics)}, mean ± standard deviation "
                f"over folds. {selected(self.selection)}{legend(columns)}"
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
