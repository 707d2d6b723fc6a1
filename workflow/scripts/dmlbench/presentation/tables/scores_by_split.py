"""Validation and test scores of one method over folds or validation splits, beside the printed."""

import re
from collections.abc import Mapping, Sequence

import pandas as pd

from dmlbench.presentation import _beside
from dmlbench.presentation.names import name, selected
from dmlbench.presentation.table import Row, Table
from dmlbench.values import Fact, Metric, Printed

_ROLES = {"validation": "validation", "test": "test"}
_FOLD = re.compile(r"cv10_fold=(\d+)")
_FIXED = re.compile(r"fixed_val_split=(.+)")


class ScoresBySplit:
    """One row a fold or a validation split, like psomas2020's tables 13 and 14.

    Args:
        id: the table's id, for labels and links.
        title: printed above the table.
        metric: what is shown; percent, the higher the better.
        selection: the selection rule of the scores.
        printed: the printed numbers.
    """

    def __init__(
        self,
        *,
        id: Fact[str],
        title: Fact[str],
        printed: Printed,
        metric: Metric = "recall_at_1",
        selection: Fact[str],
    ):
        self.id = id
        self.title = title
        self.metric = metric
        self.selection = selection
        self.printed = printed

    def __call__(self, scores: pd.DataFrame, titles: Mapping[str, str]) -> Table:
        """The table of one method's scores on one data set with one network.

        Raises:
            UserError: no scores; several methods, networks or sizes.
        """
        compared = _beside.beside(
            scores, self.printed, metrics=[self.metric], selection=self.selection
        )
        _beside.check_single(compared, ("dataset", "network", "embedding_dim", "method"))
        intervals = _beside.has_intervals(compared)
        rows = {(row.variant, row.role): row for row in compared.itertuples()}
        variants = _in_order(compared.variant)
        columns = [
            column
            for role, title in _ROLES.items()
            for column in _beside.columns(
                self.metric,
                titles,
                prefix=f"{role}_",
                group=f"{name(titles, self.metric)}, {title} classes",
                better="",
                intervals=intervals,
            )
        ]
        shown = [
            Row(
                _label(variant),
                tuple(
                    cell
                    for role in _ROLES
                    for cell in _beside.cells(rows.get((variant, role)), intervals=intervals)
                ),
            )
            for variant in variants
        ]
        return Table(
            id=self.id,
            title=self.title,
            caption=f"Scores in percent. {selected(self.selection)}",
            row_header="Fold" if _FOLD.fullmatch(variants[0]) else "Training/validation classes, %",
            columns=tuple(columns),
            rows=tuple(shown),
            notes=_beside.note(compared),
        )


def _in_order(variants: Sequence[str]) -> list[str]:
    """Folds by number, splits by the share that trains."""
    return sorted(set(variants), key=lambda variant: int(re.search(r"=(\d+)", variant)[1]))


def _label(variant: str) -> str:
    found = _FOLD.fullmatch(variant) or _FIXED.fullmatch(variant)
    return found[1]
