"""The tournament of losses: their ranks, experiment by experiment."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from dmlbench.errors import UserError
from dmlbench.evaluation.names import quantity
from dmlbench.files import atomic_write, write_csv
from dmlbench.plan.catalogs.rows import EXPERIMENT
from dmlbench.statistics import classes
from dmlbench.statistics.aggregation import SAME_SCORE, Coordinates, collect
from dmlbench.statistics.confidence import (
    rank_confidence,
    ranks_on_other_classes,
    read_answers,
)
from dmlbench.statistics.equivalence import POWER
from dmlbench.statistics.friedman import apart_by_ranks, critical_difference, friedman
from dmlbench.statistics.summary import check_one


def ranks(
    scores: pd.DataFrame, *, metric: str, methods: Sequence[str], selection: str
) -> pd.DataFrame:
    """Rank of every method in every experiment, 1 for the best score on test images.

    An experiment is one data set, network, embedding size, split and fold; seeds are averaged
    first, so that an experiment repeated over seeds counts once. Methods with the same score share
    the average of their ranks.

    Args:
        scores: the long table of scores.
        metric: the metric to rank by.
        methods: the ranked methods; other rows are left out.
        selection: the selection rule whose scores count.

    Returns:
        Frame with one row per method, in the order of `methods`, and one column per experiment
        (a column index with the levels of `EXPERIMENT`).

    Raises:
        UserError: no scores at all; a method is absent from an experiment, or has more than one
            recipe or variant there.
    """
    chosen = _chosen(scores, metric, methods, selection)
    if chosen.empty:
        raise UserError(
            f"no scores of {metric} at {selection} for any of {', '.join(methods)}; there are "
            f"{_listed(scores.metric)} at {_listed(scores.selection)}"
        )
    for cell, rows in chosen.groupby([*EXPERIMENT, "method"]):
        whose = f"method {cell[-1]}, in experiment {_named(cell[:-1])}, has"
        check_one(rows, ("recipe", "variant"), whose)
    values = chosen.pivot_table(index="method", columns=EXPERIMENT, values="value", aggfunc="mean")
    values = values.reindex(list(methods))
    for experiment in values.columns:
        for method in values.index[values[experiment].isna()]:
            raise UserError(
                f"method {method} has no {metric} at {selection} in experiment "
                f"{_named(experiment)}; every method must take part in every experiment"
            )
    return ranked(values.round(SAME_SCORE), metric)


def _chosen(
    scores: pd.DataFrame, metric: str, methods: Sequence[str], selection: str
) -> pd.DataFrame:
    return scores[
        (scores.role == "test")
        & (scores.metric == metric)
        & (scores.selection == selection)
        & scores.method.isin(list(methods))
    ]


def ranked(values: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Ranks within each column of a metric's values, 1 for the best; ties share their average."""
    return values.rank(ascending=quantity(metric).better == "lower", method="average")


def tournament(
    scores: pd.DataFrame,
    *,
    metric: str,
    methods: Sequence[str],
    selection: str,
    answers: Mapping[Coordinates, pd.Series] | None = None,
    of_classes: pd.DataFrame | None = None,
    rows: Sequence[Mapping[str, Any]] = (),
) -> pd.DataFrame:
    """Total, mean and n-1 standard deviation of each method's ranks (psomas2020, table 11).

    Experiments on several splits of the same classes are not independent: their ranks have
    intervals for other classes (`confidence.ranks_on_other_classes`), and no Friedman test.

    Args and Raises: as `ranks`.
        answers: the score of each query (`confidence.read_answers`), for `rank_low`, `rank_high`
            and `probability_first` of experiments on one split.
        of_classes: the scores of each test class (`statistics.classes`), for those on several.
        rows: the rows of the scores, for `other_encodings.shift_of`.

    Returns:
        Frame with method, total_rank, average_rank, rank_std (missing for a single experiment),
        experiments (how many), ties (in how many of them the rank is shared), best_rank,
        worst_rank, rank_low and rank_high (95 % interval of the average rank),
        probability_first (the three are missing if unknown), `unit` (what repeats behind the
        interval; empty for queries and seeds), `apart_from` (the methods that it is shown to differ
        from, all pairs tested together), and for the whole tournament friedman_p (Friedman's test),
        critical_difference (Nemenyi's of average ranks at 5 %) and concordance (Kendall's W: 1 if
        all experiments order the methods alike, 0 if they share nothing), missing for a single
        method or experiment, which leaves nothing to test; the winner first, equal totals in the
        order of `methods`.
    """
    table = ranks(scores, metric=metric, methods=methods, selection=selection)
    shared = table.apply(lambda column: column.duplicated(keep=False))
    result = pd.DataFrame(
        {
            "method": list(table.index),
            "total_rank": table.sum(axis=1).to_numpy(),
            "average_rank": table.mean(axis=1).to_numpy(),
            "rank_std": table.std(axis=1, ddof=1).to_numpy(),
            "experiments": table.shape[1],
            "ties": shared.sum(axis=1).to_numpy(),
            "best_rank": table.min(axis=1).to_numpy(),
            "worst_rank": table.max(axis=1).to_numpy(),
        }
    )
    of_whole = dict.fromkeys(["friedman_p", "critical_difference", "concordance"], np.nan)
    apart: dict[str, list[str]] = {method: [] for method in table.index}
    unit = ""
    if min(table.shape) > 1:
        test = friedman(table)
        of_whole["concordance"] = test.chi_square / (table.shape[1] * (len(table) - 1))
    if _share_classes(table) and len(table) > 1:
        chosen = _chosen(scores, metric, methods, selection)
        kept = of_classes
        if kept is not None:
            kept = kept[kept["selection"].isin([selection, "none"])]
        found = ranks_on_other_classes(
            chosen, metric=metric, methods=methods, classes=kept, rows=rows
        )
        result = result.merge(found.ranks, on="method").assign(probability_first=np.nan)
        apart, unit = found.apart, found.unit
    elif answers:
        result = result.merge(rank_confidence(answers, methods=methods), on="method")
    else:
        result[["rank_low", "rank_high", "probability_first"]] = np.nan
    if min(table.shape) > 1 and not unit:
        of_whole["friedman_p"] = test.p_value
        of_whole["critical_difference"] = critical_difference(*table.shape)
        apart = apart_by_ranks(table.mean(axis=1), of_whole["critical_difference"])
    result = result.assign(unit=unit, apart_from=list(apart.values()), **of_whole)
    return result.sort_values("total_rank", kind="stable", ignore_index=True)


def _share_classes(table: pd.DataFrame) -> bool:
    """Whether experiments of a table of ranks are on several splits of one data set."""
    setting = [level for level in table.columns.names if level not in ("split", "method")]
    return bool(table.columns.to_frame(index=False).duplicated(setting).any())


class Trend(NamedTuple):
    """Trend of mean ranks over years.

    Attributes:
        correlation: Spearman's of year and mean rank; below 0, later methods rank better.
        p_value: of the test that it is 0 (Student's t).
        losses: how many methods have a year.
    """

    correlation: float
    p_value: float
    losses: int

    @property
    def detectable(self) -> float:
        """The correlation that the test finds with a probability of 80 %.

        Source: Fieller, Hartley and Pearson, Tests for rank correlation coefficients, Biometrika
        44, 1957: the variance of Spearman's after Fisher's transformation.
        """
        quantiles = stats.norm.ppf(0.975) + stats.norm.ppf(POWER)
        return float(np.tanh(quantiles * np.sqrt(1.06 / (self.losses - 3))))


def rank_by_year(board: pd.DataFrame, years: Mapping[str, int]) -> Trend | None:
    """Whether later methods rank better; None for fewer than four methods or one year.

    Args:
        board: with the columns method and average_rank, as `tournament` gives it.
        years: method -> year; methods without one are left out.
    """
    dated = board[board["method"].isin(list(years))]
    year = dated["method"].map(years)
    if len(dated) < 4 or year.nunique() < 2:
        return None
    correlation = stats.spearmanr(year, dated["average_rank"])
    return Trend(float(correlation.statistic), float(correlation.pvalue), len(dated))


def read_repeats(
    rows: Sequence[Mapping[str, Any]],
    queries: Sequence[str | os.PathLike],
    *,
    metric: str,
    selection: str,
) -> dict[str, Any]:
    """What repeats in the experiments of rows, as `tournament` takes it: classes, or else queries.

    Args:
        rows, metric, selection: as `read_answers` takes them.
        queries: as `classes.of_splits` takes them.
    """
    of_classes = classes.of_splits(rows, queries)
    if of_classes is not None:
        return {"of_classes": of_classes}
    return {"answers": read_answers(rows, queries, metric=metric, selection=selection)}


def write_tournament(
    rows: Sequence[Mapping[str, Any]],
    score_files: Sequence[str | os.PathLike],
    *,
    csv: str | os.PathLike,
    parquet: str | os.PathLike,
    metric: str,
    methods: Sequence[str],
    selection: str,
    queries: Sequence[str | os.PathLike] = (),
    rehearsal: bool = False,
) -> None:
    """Rank the methods of the rows' score files and write the tournament, as `tournament` gives it.

    Args:
        rows, score_files: as `aggregation.collect` takes them.
        csv: the file to write for readers: six digits, without the concordance.
        parquet: the file to write for tables, figures and pages: everything, in full precision.
        metric, methods, selection: as `ranks` takes them.
        queries: for each row the file of its run's queries; empty for ranks without intervals.
        rehearsal: whether a first column of the CSV says that the numbers are toy numbers.
    """
    frame = tournament(
        collect(rows, score_files),
        metric=metric,
        methods=methods,
        selection=selection,
        rows=rows,
        **read_repeats(rows, queries, metric=metric, selection=selection),
    )
    with atomic_write(parquet) as unfinished:
        frame.to_parquet(unfinished, index=False)
    shown = frame.drop(columns=["concordance", "apart_from"])
    if rehearsal:
        shown.insert(0, "rehearsal", "toy numbers")
    write_csv(csv, shown, float_format="%.6g")


def _listed(values: pd.Series) -> str:
    return ", ".join(sorted(values.unique()))


def _named(experiment: tuple) -> str:
    named = dict(zip(EXPERIMENT, experiment, strict=True))
    named["embedding_dim"] = f"d{named['embedding_dim']}"
    return "/".join(filter(None, named.values()))
