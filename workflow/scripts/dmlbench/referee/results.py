"""A table of scores of several methods, judged: what differs, what could have been seen, ranks."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import pandas as pd

from dmlbench.errors import UserError, unknown
from dmlbench.presentation.table import Table
from dmlbench.referee import result_tables
from dmlbench.referee.result_tables import Contrast
from dmlbench.referee.results_file import read_results
from dmlbench.statistics.equivalence import (
    between,
    of_runs,
    variance_ratio,
)
from dmlbench.statistics.other_classes import SEED, SPLIT
from dmlbench.statistics.over_splits import OverSplits
from dmlbench.statistics.paired import holm
from dmlbench.statistics.summary import in_units

About = Literal["seeds", "classes"]


class Refereed(NamedTuple):
    """A verdict in words and numbers.

    Attributes:
        sentence: the answer by the first metric of the file.
        tables: scores, differences and, where methods can be ranked, ranks.
    """

    sentence: str
    tables: list[Table]


def refereed(
    path: Path,
    *,
    against: str | None = None,
    about: About | None = None,
    percent: bool | None = None,
) -> Refereed:
    """Judge a table of scores.

    On one split of the classes, differences are about other seeds: paired where both methods have
    the same seeds and that gains something, otherwise by Welch. On several splits seeds are
    averaged, and differences are about other classes (`over_splits.OverSplits`): seeds are no
    repeats of classes.

    Args:
        path: CSV or Parquet with the columns `results_file.COLUMNS`; data, split and seed may be
            missing if they would have one value.
        against: the method that all others are compared with; None for all pairs.
        about: what the verdict must be about; None for what the scores are about.
        percent: whether scores such as R@1 are given in percent; None for a guess by their size.

    Raises:
        UserError: a missing column or value, two values for one place, scores of which some are
            fractions and some percent, splits that are seeds, seeds where classes are wanted.
    """
    scores = read_results(path, percent=percent)
    methods = list(scores["method"].unique())
    if against is not None and against not in methods:
        raise unknown("method", against, methods)
    if len(methods) < 2:
        raise UserError(f"{path}: one method, {methods[0]}; allowed: two or more")
    _check_about(path, scores, about)
    pairs = (
        [(other, first) for first, other in itertools.combinations(methods, 2)]
        if against is None
        else [(method, against) for method in methods if method != against]
    )
    contrasts = list(_contrasts(scores, pairs))
    if not contrasts:
        raise UserError(f"{path}: no two methods with scores on the same data and splits")
    # In the order of the contrasts; of one metric, all are tested together.
    corrected = pd.concat(
        holm(pd.Series([each.p_value for each in own], dtype="float64"))
        for _, own in itertools.groupby(contrasts, key=lambda each: each.metric)
    ).tolist()
    tables = [result_tables.means(path, scores), result_tables.differences(contrasts, corrected)]
    tables += [
        table
        for metric in scores["metric"].unique()
        if (table := result_tables.ranks(scores, metric))
    ]
    return Refereed(result_tables.sentence(contrasts, corrected), tables)


def _check_about(path: Path, scores: pd.DataFrame, about: About | None) -> None:
    splits = scores.groupby("dataset")["split"].nunique()
    for data, count in splits.items():
        named = f" of {data}" if data else ""
        if about == "classes" and count < 2:
            raise UserError(
                f"{path}: one split{named}, so nothing about other classes: seeds repeat the "
                "training, not the classes; allowed: --about seeds, or scores on several splits"
            )
        if about == "seeds" and count > 1:
            raise UserError(
                f"{path}: {count} splits{named}, whose differences are about other classes; "
                "allowed: --about classes, or scores on one split"
            )


def _contrasts(scores: pd.DataFrame, pairs: list[tuple[str, str]]) -> Iterator[Contrast]:
    """The differences of these pairs, metric by metric and data set by data set."""
    scores = in_units(scores)
    for metric, of_metric in scores.groupby("metric", sort=False):
        for data, own in of_metric.groupby("dataset", sort=False):
            there = set(own["method"])
            here = [pair for pair in pairs if there.issuperset(pair)]
            if own["split"].nunique() > 1:
                over_splits = OverSplits(own, ["method"])
                for method, reference in here:
                    weights = {(method,): 1.0, (reference,): -1.0}
                    shared = set.intersection(*(set(over_splits.of_split[key]) for key in weights))
                    if shared:
                        found = over_splits.difference(weights)
                        yield Contrast(metric, data, method, reference, found, SPLIT)
                continue
            by_seed = {
                method: values.set_index("seed")["value"].sort_index()
                for method, values in own.groupby("method")
            }
            paired = {
                pair for pair in here if by_seed[pair[0]].index.equals(by_seed[pair[1]].index)
            }
            ratio = variance_ratio(
                (by_seed[method], by_seed[reference]) for method, reference in sorted(paired)
            )
            for pair in here:
                one, other = (by_seed[method].to_numpy() for method in pair)
                found = of_runs(one, other, ratio=ratio) if pair in paired else between(one, other)
                yield Contrast(metric, data, *pair, found, SEED)
