"""The tournament of our scores next to the printed one and that of the printed scores."""

from dataclasses import replace

import pandas as pd

from dmlbench.presentation._ranks import ranked_by, ranking
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.table import Table
from dmlbench.statistics.printed import as_scores
from dmlbench.statistics.tournament import tournament
from dmlbench.values import Printed, RankingMetric

RANKS = "methods"

_RANKS = ("total_rank", "average_rank", "rank_std")


class TournamentNextToPrinted(Kind):
    """Each loss's rank over all experiments three times, like psomas2020's table 11.

    From our scores, as printed, and computed from the printed scores, next to which printed ranks
    that do not follow from printed scores are visible.

    Attributes:
        metric: the metric to rank by.
        printed: the printed tournament, and the printed scores that it ranks.
    """

    metric: RankingMetric = "recall_at_1"
    printed: Printed

    def __call__(self, scores: pd.DataFrame) -> Table:
        ranked = self.printed.metric.str.startswith("tournament_")
        printed_scores = as_scores(self.printed[~ranked], selection=self.selection)
        by = {"metric": self.metric, "selection": self.selection}
        ours = ranking(self, scores, methods=self.methods)
        boards = {
            "ours": ours.set_index("method"),
            "printed": _as_printed(self.printed[ranked]),
            "recomputed": tournament(printed_scores, methods=self.methods, **by).set_index(
                "method"
            ),
        }
        records = [
            {"label": self.name(method)}
            | {
                f"{source}_{rank}": board[rank].get(method, "not printed")
                for source, board in boards.items()
                for rank in _RANKS
            }
            for method in ours.method
        ]
        halves = any((board.total_rank % 1 > 0).any() for board in boards.values())
        columns = [
            replace(column, decimals=column.decimals if halves else 0)
            if column.name.endswith("total_rank")
            else column
            for column in self.shown()
        ]
        rows = self.rows_of(columns, records)
        return self.table("Loss", columns, rows, self.said(ranked=ranked_by(self, ours)))


def _as_printed(printed: pd.DataFrame) -> pd.DataFrame:
    ranks = printed.assign(rank=printed.metric.str.removeprefix("tournament_"))
    return ranks.pivot(index="method", columns="rank", values="number")
