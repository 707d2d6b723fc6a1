"""Validation and test scores of one method over folds or validation splits, next to the printed."""

from collections.abc import Mapping

import pandas as pd

from dmlbench.plan.rows import all_but
from dmlbench.presentation import _beside, _variants
from dmlbench.presentation.names import name, selected
from dmlbench.presentation.table import Row, Table
from dmlbench.values import Fact, Metric, Printed

_ROLES = ("validation", "test")


class ScoresBySplit:
    """One row per fold or validation split, like psomas2020's tables 13 and 14.

    Args:
        id: the table's id, for labels and links.
        title: printed above the table.
        metric: what is shown; percent, the higher the better.
        selection: the selection rule of the scores.
        printed: the printed numbers at their places.
        labels: split or fold -> label of the row; by default folds are numbered from 1.
        row_header: header of the row labels.
    """

    def __init__(
        self,
        *,
        id: Fact[str],
        title: Fact[str],
        printed: Printed,
        metric: Metric = "recall_at_1",
        selection: Fact[str],
        labels: Mapping[str, str] | None = None,
        row_header: str = "Fold",
    ):
        self.id = id
        self.title = title
        self.metric = metric
        self.selection = selection
        self.printed = printed
        self.labels = labels or {}
        self.row_header = row_header

    def __call__(self, scores: pd.DataFrame, titles: Mapping[str, str]) -> Table:
        """The table of one method's scores on one data set with one network.

        Raises:
            UserError: no scores; several methods, networks or sizes.
        """
        compared = _beside.next_to_printed(
            scores, self.printed, metrics=[self.metric], selection=self.selection, roles=_ROLES
        )
        single = all_but("recipe", "split", "fold", "seed")
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
                titles,
                prefix=f"{role}_",
                group=f"{name(titles, self.metric)}, {role} classes",
                better="",
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
            caption=f"Scores in percent. {selected(self.selection)}",
            row_header=self.row_header,
            columns=tuple(columns),
            rows=tuple(shown),
            notes=_beside.note(compared),
        )

    def _label(self, split: str, fold: str) -> str:
        own = str(int(fold) + 1) if fold.isdecimal() else fold
        return self.labels.get(fold or split, own or split)
