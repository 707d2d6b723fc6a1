"""The ranks that several kinds of tables and figures show."""

import pandas as pd

from dmlbench.presentation.kind import Kind
from dmlbench.statistics.tournament import tournament
from dmlbench.words import counted


def ranking(kind: Kind, scores: pd.DataFrame, **ranked) -> pd.DataFrame:
    """The tournament of a kind with `metric` and `board`: the study's from its file, if it is that.

    Args:
        ranked: `methods`, `answers` and `of_classes`, as `tournament` takes them.
    """
    if kind.board:
        return pd.read_parquet(kind.board[0])
    rule = {"metric": kind.metric, "selection": kind.selection}
    return tournament(scores, rows=kind.rows, **rule, **ranked)


def ranked_by(kind: Kind, board: pd.DataFrame) -> str:
    """What a tournament's ranks are of."""
    experiments = counted(board.experiments.iloc[0], "experiment")
    each = "data set, network, embedding size" + (
        ", split of the classes" if board.unit.iloc[0] else ""
    )
    return f"Rank by {kind.name(kind.metric)} in {experiments} ({each}); 1 is best"
