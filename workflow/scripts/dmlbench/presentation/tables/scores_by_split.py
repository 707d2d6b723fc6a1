"""Validation and test scores of one method over folds or validation splits, next to the printed."""

from collections.abc import Mapping
from functools import partial

import pandas as pd

from dmlbench.errors import UserError
from dmlbench.plan.rows import all_but
from dmlbench.presentation import _next_to_printed, _variants
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.names import in_percent
from dmlbench.presentation.table import Table, TableRow
from dmlbench.statistics.comparison import CITED
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
        which = {"metrics": [self.metric], "selection": self.selection, "roles": _ROLES}
        compared = _next_to_printed.next_to_printed(scores, self.printed, **which)
        ours = compared[compared.status != CITED]
        for column in all_but("recipe", "split", "fold", "seed"):
            values = [str(value) for value in ours[column].dropna().unique()]
            if len(values) > 1:
                raise UserError(f"the scores have several values of {column} ({', '.join(values)})")
        intervals = _next_to_printed.has_intervals(compared)
        splits = [
            (split, fold)
            for split in dict.fromkeys(compared.split)
            for fold in _variants.in_order(compared.fold[compared.split == split])
        ]
        rows_by_key = {(row.split, row.fold, row.role): row for row in compared.itertuples()}
        cells = partial(_next_to_printed.cells, intervals=intervals)
        rows = [
            TableRow(
                self._label(*key),
                tuple(cell for role in _ROLES for cell in cells(rows_by_key.get((*key, role)))),
            )
            for key in splits
        ]
        columns = [column for role in _ROLES for column in self._columns(role, intervals)]
        caption = f"Scores{in_percent(self.titles, [self.metric])}. {self.selected}"
        return self.table(self.row_header, columns, rows, caption, _next_to_printed.note(compared))

    def _columns(self, role: str, intervals: bool):
        group = f"{self.name(self.metric)}, {role} classes"
        style = {"marked": False, "intervals": intervals}
        return _next_to_printed.columns(
            self.metric, self.titles, prefix=f"{role}_", group=group, **style
        )

    def _label(self, split: str, fold: str) -> str:
        own = str(int(fold) + 1) if fold.isdecimal() else fold
        return (self.labels or {}).get(fold or split, own or split)
