"""Validation and test scores of one method over folds or validation splits, next to the printed."""

from collections.abc import Mapping

import pandas as pd

from dmlbench.presentation import _beside, _variants
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import in_percent, selected
from dmlbench.presentation.table import Row, Table
from dmlbench.values import Metric, Printed

NEEDS = "one_method"

_ROLES = ("validation", "test")


class ScoresBySplit(Kind):
    """One row per fold or validation split, like psomas2020's tables 13 and 14.

    Attributes:
        metric: what is shown.
        printed: the printed numbers at their places.
        labels: split or fold -> label of the row; by default folds are numbered from 1.
        row_header: header of the row labels.
    """

    printed: Printed
    metric: Metric = "recall_at_1"
    labels: Mapping[str, str] | None = None
    row_header: str = "Fold"

    def __call__(self, scores: pd.DataFrame) -> Table:
        """The table of one method's scores on one data set with one network.

        Raises:
            UserError: no scores; several methods, networks or sizes.
        """
        compared = _beside.next_to_printed(
            scores, self.printed, metrics=[self.metric], selection=self.selection, roles=_ROLES
        )
        single = ("dataset", "network", "embedding_dim", "method", "variant")
        _beside.check_single(compared, single)
        intervals = _beside.has_intervals(compared)
        rows = {(row.split, row.fold, row.role): row for row in compared.itertuples()}
        splits = [
            (split, fold)
            for split in dict.fromkeys(compared.split)
            for fold in _variants.in_order(compared.fold[compared.split == split])
        ]
        columns = [
            column
            for role in _ROLES
            for column in _beside.columns(
                self.metric,
                self.titles,
                prefix=f"{role}_",
                group=f"{self.name(self.metric)}, {role} classes",
                marked=False,
                intervals=intervals,
            )
        ]
        shown = [
            Row(
                self._label(split, fold),
                tuple(
                    cell
                    for role in _ROLES
                    for cell in _beside.cells(rows.get((split, fold, role)), intervals=intervals)
                ),
            )
            for split, fold in splits
        ]
        return Table(
            id=self.id,
            title=self.title,
            caption=f"Scores{in_percent(self.titles, [self.metric])}. {selected(self.selection)}",
            row_header=self.row_header,
            columns=tuple(columns),
            rows=tuple(shown),
            notes=_beside.note(compared),
        )

    def _label(self, split: str, fold: str) -> str:
        own = str(int(fold) + 1) if fold.isdecimal() else fold
        return (self.labels or {}).get(fold or split, own or split)
