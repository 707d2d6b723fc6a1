"""The tournament as a table."""

import os
from collections.abc import Sequence

import pandas as pd

from dmlbench.presentation._ranks import ranked_by, ranking
from dmlbench.presentation.kind import Kind
from dmlbench.presentation.numbers import rounded
from dmlbench.presentation.table import Cell, Column, Table, TableRow
from dmlbench.statistics.confidence import read_answers
from dmlbench.values import Fact, RankingMetric

NEEDS = "ranks"

_COLUMNS = (
    Column("total_rank", "Total", "Rank", decimals=1, better="lower"),
    Column("average_rank", "Mean", "Rank", better="lower"),
    Column("rank_std", "Std", "Rank"),
    Column("best_rank", "Best", "Rank", decimals=1),
    Column("worst_rank", "Worst", "Rank", decimals=1),
    Column("ties", "Ties", decimals=0),
)
_CONFIDENCE = (
    Column("rank_low", "Low", "Mean rank, 95 %"),
    Column("rank_high", "High", "Mean rank, 95 %"),
    Column("percent_first", "First (%)", decimals=0, better="higher"),
)


class Tournament(Kind):
    """Each method's rank over all experiments of a study, like psomas2020's table 11.

    Attributes:
        metric: the metric to rank by.
        queries: for each row the file of its run's queries; with them each mean rank has an
            interval, and each method the probability of being first.
    """

    metric: RankingMetric = "recall_at_1"
    queries: Fact[Sequence[str | os.PathLike]] = ()

    def __call__(self, scores: pd.DataFrame) -> Table:
        rule = {"metric": self.metric, "selection": self.selection}
        answers = None if self.board else read_answers(self.rows, self.queries, **rule)
        frame = ranking(self, scores, methods=self.methods, answers=answers)
        frame["percent_first"] = 100 * frame.probability_first
        shown = _COLUMNS + (_CONFIDENCE if frame.rank_low.notna().all() else ())
        columns = tuple(_without_halves(column, frame) for column in shown)
        rows = tuple(
            TableRow(self.name(record["method"]), tuple(Cell(record[c.name]) for c in columns))
            for record in frame.to_dict("records")
        )
        caption = f"{ranked_by(self, frame)}. {self.selected}"
        return self.table("Loss", columns, rows, caption, _notes(frame))


def _notes(frame: pd.DataFrame) -> tuple[str, ...]:
    notes = []
    if frame.ties.any():
        notes.append("Equal scores share the average of their ranks.")
    if frame.friedman_p.notna().all():
        notes.append(
            f"Friedman's test that all rank alike: p = {frame.friedman_p.iloc[0]:.3g}. Nemenyi's "
            f"critical difference of mean ranks, 95 %: "
            f"{rounded(frame.critical_difference.iloc[0], 2)}."
        )
    if frame.rank_low.notna().all():
        notes.append(
            "Interval and probability of being first: queries drawn again, and seeds where there "
            "are several."
        )
    return tuple(notes)


def _without_halves(column: Column, frame: pd.DataFrame) -> Column:
    """The column without decimals if ranks could have halves but none has one."""
    if column.decimals == 1 and (frame[column.name] % 1 == 0).all():
        return Column(column.name, column.header, column.group, 0, column.better)
    return column
