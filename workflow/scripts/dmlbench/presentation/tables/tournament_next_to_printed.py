"""The tournament of our scores next to the printed one and that of the printed scores."""

from collections.abc import Mapping

import pandas as pd

from dmlbench.presentation._ranks import ranked_by, ranking
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.table import Cell, Column, Table, TableRow
from dmlbench.statistics.printed import as_scores
from dmlbench.statistics.tournament import tournament
from dmlbench.values import Printed, RankingMetric

NEEDS = "ranks"

_RANKS = {"total_rank": "Total", "average_rank": "Mean", "rank_std": "Std"}
_OURS, _PRINTED, _RECOMPUTED = "ours", "printed", "recomputed"
_GROUPS = {_OURS: "Our scores", _PRINTED: "As printed", _RECOMPUTED: "From the printed scores"}


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
        boards = {
            _OURS: ranking(self, scores, methods=self.methods).set_index("method"),
            _PRINTED: _as_printed(self.printed[ranked]),
            _RECOMPUTED: tournament(printed_scores, methods=self.methods, **by).set_index("method"),
        }
        rows = [
            TableRow(
                self.name(method),
                tuple(_cell(board, method, rank) for board in boards.values() for rank in _RANKS),
            )
            for method in boards[_OURS].index
        ]
        caption = (
            f"{ranked_by(self, boards[_OURS])}, equal scores share the average of their ranks. "
            f"{self.selected} Best in bold, second best underlined."
        )
        return self.table("Loss", _columns(boards), rows, caption)


def _as_printed(printed: pd.DataFrame) -> pd.DataFrame:
    ranks = printed.assign(rank=printed.metric.str.removeprefix("tournament_"))
    return ranks.pivot(index="method", columns="rank", values="number")


def _columns(boards: Mapping[str, pd.DataFrame]) -> tuple[Column, ...]:
    halves = any((board.total_rank % 1 > 0).any() for board in boards.values())
    decimals = {"total_rank": 1 if halves else 0}
    return tuple(
        Column(
            f"{board}_{rank}",
            header,
            group,
            decimals=decimals.get(rank, 2),
            better="" if rank == "rank_std" else "lower",
        )
        for board, group in _GROUPS.items()
        for rank, header in _RANKS.items()
    )


def _cell(board: pd.DataFrame, method: str, rank: str) -> Cell:
    return Cell(board.loc[method, rank] if method in board.index else "not printed")
