"""The tournament as a table."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from dmlbench.presentation._ranks import ranked_by, ranking
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.table import Column, Table
from dmlbench.presentation.texts import rounded
from dmlbench.statistics.printed import as_scores
from dmlbench.statistics.tournament import read_repeats, tournament
from dmlbench.values import Fact, Printed, RankingMetric

_SHOWN_RANKS = ("total_rank", "average_rank", "rank_std")


class Tournament(Kind):
    """Each method's rank over all experiments of a study, like psomas2020's table 11.

    Attributes:
        metric: the metric to rank by.
        queries: for each row the file of its run's queries; with them each mean rank has an
            interval, and each method the probability of being first.
    """

    RANKS = "methods"
    metric: RankingMetric = "recall_at_1"
    queries: Fact[Sequence[str | os.PathLike]] = ()

    def __call__(self, scores: pd.DataFrame) -> Table:
        rule = {"metric": self.metric, "selection": self.selection}
        read = {} if self.board else read_repeats(self.rows, self.queries, **rule)
        frame = ranking(self, scores, methods=self.methods, **read)
        frame["percent_first"] = 100 * frame.probability_first
        confidence = ("rank_low", "rank_high", "percent_first")
        unknown = {column for column in confidence if frame[column].isna().any()}
        columns = [
            _without_halves(column, frame) for column in self.shown() if column.name not in unknown
        ]
        labeled = frame.assign(label=frame.method.map(self.name))
        caption = f"{ranked_by(self, frame)}. {self.selected}"
        return self.listed("Loss", columns, labeled.to_dict("records"), caption, self._notes(frame))

    def _notes(self, frame: pd.DataFrame) -> Iterator[str]:
        first = frame.iloc[0]
        if frame.ties.any():
            yield self.said("ties")
        if frame.friedman_p.notna().all():
            difference = rounded(first.critical_difference, 2)
            yield self.said("friedman", p=first.friedman_p, difference=difference)
        if first.unit:
            yield self.said(first.unit)
        elif frame.rank_low.notna().all():
            yield self.said("queries")


def _without_halves(column: Column, frame: pd.DataFrame) -> Column:
    """The column without decimals if ranks could have halves but none has one."""
    if column.decimals == 1 and (frame[column.name] % 1 == 0).all():
        return replace(column, decimals=0)
    return column


class TournamentNextToPrinted(Kind):
    """Each loss's rank over all experiments three times, like psomas2020's table 11.

    From our scores, as printed, and computed from the printed scores, next to which printed ranks
    that do not follow from printed scores are visible.

    Attributes:
        metric: the metric to rank by.
        printed: the printed tournament, and the printed scores that it ranks.
    """

    RANKS = "methods"
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
                for rank in _SHOWN_RANKS
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
        return self.listed("Loss", columns, records, self.said(ranked=ranked_by(self, ours)))


def _as_printed(printed: pd.DataFrame) -> pd.DataFrame:
    ranks = printed.assign(rank=printed.metric.str.removeprefix("tournament_"))
    return ranks.pivot(index="method", columns="rank", values="number")
