"""Confidence in the ranks of a tournament: for other test images and seeds, or other classes.

Source: Mogstad, Romano, Shaikh and Wilhelm, Inference for ranks with applications to mobility
across neighborhoods and academic achievement across countries, Review of Economic Studies 91,
2024. Resampling ranks themselves would be wrong: noise pulls every average rank to the middle.
"""

import itertools
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtrit
from scipy.stats import rankdata

from dmlbench.errors import UserError
from dmlbench.evaluation.names import quantity, split_at_k
from dmlbench.parquet import read_table
from dmlbench.plan.catalogs.rows import EXPERIMENT
from dmlbench.statistics.aggregation import SAME_SCORE, Coordinates, row_of
from dmlbench.statistics.equivalence import ALPHA, Difference, p_value_of
from dmlbench.statistics.other_classes import CLASS, SPLIT
from dmlbench.statistics.other_encodings import shift_of
from dmlbench.statistics.over_splits import OverSplits
from dmlbench.statistics.paired import holm
from dmlbench.statistics.summary import in_units

COLUMNS = ["method", "rank_low", "rank_high", "probability_first"]

_TOGETHER = 100
"""Draws for which the scores of many runs, which no cache holds, are read once."""

_KEPT = {"mrr": "first_rank", "r_precision": "r_precision", "map_at_r": "map_at_r"}


def read_answers(
    rows: Sequence[Mapping[str, Any]],
    files: Sequence[str | os.PathLike],
    *,
    metric: str,
    selection: str,
) -> dict[Coordinates, pd.Series]:
    """The score of each test query, row by row.

    Args:
        rows: the columns of each row, as `aggregation.collect` takes them.
        files: for each row the Parquet file of its run's queries, as
            `evaluation.run_scores.write_scores` writes it; empty for no answers.
        metric: recall_at_k, mrr, r_precision or map_at_r.
        selection: the selection rule whose scores count.

    Returns:
        row -> the metric of each query, a fraction, by image id in ascending order; empty for a
        metric that is not defined per query, such as nmi.
    """
    k = split_at_k(metric)
    column = "first_rank" if k and k[0] == "recall" else _KEPT.get(metric)
    if column is None:
        return {}
    kept = [("role", "==", "test"), ("selection", "==", selection)]
    of_run = {}
    for file in dict.fromkeys(files):
        table = read_table(file, columns=["image_id", column], filters=kept)
        values = pd.Series(table[column].to_numpy(), table["image_id"].to_numpy()).sort_index()
        if column == "first_rank":
            values = (values <= k[1]).astype(float) if k else 1 / values
        of_run[file] = values
    return {row_of(row): of_run[file] for row, file in zip(rows, files, strict=bool(files))}


def rank_confidence(
    answers: Mapping[Coordinates, pd.Series],
    *,
    methods: Sequence[str],
    resamples: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """For each method a 95 % interval of its average rank, and how often it comes first.

    The scores are drawn again: the same queries for all rows on a data set's split, so that
    methods and experiments are compared on equal images, and, where a method has n > 1 seeds in
    an experiment, n - 1 of these with replacement, whose mean has the variance of n real ones
    (McCarthy and Snowden 1985). With one seed, chance in training is not in the intervals.

    In an experiment a method's rank is between 1 + the number of methods that are surely better and
    k - the number of those that are surely worse. A difference is sure if it exceeds c standard
    errors, with c such that in 95 % of the draws no difference of this method in any experiment
    deviates further. The interval of the average rank is the average of those bounds.

    Args:
        answers: as `read_answers` gives them; every method in every experiment.
        methods: the ranked methods; other rows are left out.
        resamples: number of draws.
        seed: the same seed gives the same numbers.

    Returns:
        `COLUMNS`, one row per method; `probability_first` is the share of draws in which its
        average rank is the best; methods with equal ranks share a draw.

    Raises:
        UserError: rows on one split have different queries; a method is absent from an experiment.
    """
    answers = {row: values for row, values in answers.items() if row.method in methods}
    cells = _cells(answers, methods)
    generator = np.random.default_rng(seed)
    drawn = _drawn_means(answers, resamples, generator)
    draws = np.empty((resamples, *cells.shape))
    observed = np.empty(cells.shape)
    for place, rows in np.ndenumerate(cells):
        observed[place] = np.mean([answers[row].mean() for row in rows])
        of_seeds = np.stack([drawn[row] for row in rows], axis=1)
        chosen = generator.integers(0, len(rows), (resamples, max(1, len(rows) - 1)))
        draws[:, *place] = np.take_along_axis(of_seeds, chosen, axis=1).mean(axis=1)
    bounds = [_bounds(observed, draws, number) for number in range(len(methods))]
    return pd.DataFrame(
        {
            "method": list(methods),
            "rank_low": [low for low, _ in bounds],
            "rank_high": [high for _, high in bounds],
            "probability_first": _first(draws),
        },
        columns=COLUMNS,
    )


class OnOtherClasses(NamedTuple):
    """Ranks of a tournament whose experiments are splits of the same classes.

    Attributes:
        ranks: a column for `method`, `rank_low` and `rank_high`, as `rank_confidence` has them.
        apart: method -> the methods that it is shown to differ from, tested jointly (Holm).
        unit: what repeats: `other_classes.SPLIT` or `CLASS`.
    """

    ranks: pd.DataFrame
    apart: dict[str, list[str]]
    unit: str


def ranks_on_other_classes(
    scores: pd.DataFrame,
    *,
    metric: str,
    methods: Sequence[str],
    classes: pd.DataFrame | None = None,
    rows: Sequence[Mapping[str, Any]] = (),
) -> OnOtherClasses:
    """The intervals of average ranks, and which methods differ, for other classes.

    On each data set, with each network and embedding size, differences between methods are
    estimated over its splits of the classes (`over_splits.OverSplits`). A method's rank there is
    between 1 + the number of methods that are surely better and k - the number of those that are
    surely worse, which hold together in 95 % of cases (Bonferroni over the k - 1 others). Bounds
    are averaged over data sets, networks and sizes, and so are the differences of two methods.

    Args:
        scores: the long table, of one metric, selection rule and role, several splits in each.
        metric: of the scores.
        methods: the ranked methods.
        classes: the scores of each test class (`statistics.classes`); None if unknown.
        rows: the rows of the scores, for `other_encodings.shift_of`.
    """
    sign = -1 if quantity(metric).better == "lower" else 1
    keys = ["dataset", "network", "embedding_dim", "fold"]
    bounds, found, units = [], [], set()
    for key, own in in_units(scores).groupby(keys, sort=False):
        here, by = dict(zip(keys, key, strict=True)), ["method"]
        shift = shift_of(rows, by, metric, **here)
        alike = OverSplits(own, by, _of_setting(classes, metric, here), shift=shift)
        several = {
            (first, other): alike.difference({(first,): sign, (other,): -sign})
            for first, other in itertools.combinations(methods, 2)
        }
        several |= {
            (other, first): each._replace(value=-each.value)
            for (first, other), each in several.items()
        }
        bounds.append([_rank_bounds(method, several, len(methods)) for method in methods])
        found.append(several)
        units.add(alike.unit({(method,): 0.0 for method in methods}))
    low, high = np.mean(bounds, axis=0).T
    ranks = pd.DataFrame({"method": list(methods), "rank_low": low, "rank_high": high})
    return OnOtherClasses(ranks, _apart(methods, found), CLASS if units == {CLASS} else SPLIT)


def _of_setting(
    classes: pd.DataFrame | None, metric: str, setting: Mapping[str, Any]
) -> pd.DataFrame | None:
    if classes is None:
        return None
    for column, value in {**setting, "metric": metric}.items():
        classes = classes[classes[column] == value]
    return in_units(classes)


def _rank_bounds(
    method: str, differences: Mapping[tuple[str, str], Difference], count: int
) -> tuple[float, float]:
    """Bounds of a method's rank among `count` methods that hold in 95 % of cases."""
    own = [difference for (first, _), difference in differences.items() if first == method]
    limits = [
        stdtrit(each.freedom, 1 - 0.025 / (count - 1)) * each.error if each.error else 0.0
        for each in own
    ]
    better = sum(each.value < -limit for each, limit in zip(own, limits, strict=True))
    worse = sum(each.value > limit for each, limit in zip(own, limits, strict=True))
    return 1.0 + better, float(count - worse)


def _apart(
    methods: Sequence[str], found: Sequence[Mapping[tuple[str, str], Difference]]
) -> dict[str, list[str]]:
    """Method -> those that its mean difference over several estimates is significant from."""
    pairs = list(itertools.combinations(methods, 2))
    p_values = []
    for pair in pairs:
        own = [differences[pair] for differences in found]
        error = sum(each.error**2 for each in own) ** 0.5 / len(own)
        freedom = min(each.freedom for each in own)
        mean = Difference(np.mean([each.value for each in own]), error, freedom)
        p_values.append(p_value_of(mean))
    significant = holm(pd.Series(p_values)) <= ALPHA
    shown = [pair for pair, differs in zip(pairs, significant, strict=True) if differs]
    return {
        method: [other for pair in shown if method in pair for other in pair if other != method]
        for method in methods
    }


def _cells(answers: Mapping[Coordinates, pd.Series], methods: Sequence[str]) -> np.ndarray:
    """The rows of each experiment and method, [E, M]."""
    by_experiment: dict[tuple, dict[str, list[Coordinates]]] = {}
    for row in answers:
        experiment = tuple(getattr(row, column) for column in EXPERIMENT)
        by_experiment.setdefault(experiment, {}).setdefault(row.method, []).append(row)
    cells = np.empty((len(by_experiment), len(methods)), dtype=object)
    for place, (experiment, rows) in enumerate(by_experiment.items()):
        for column, method in enumerate(methods):
            if method not in rows:
                named = "/".join(str(part) for part in experiment if part != "")
                raise UserError(f"method {method} has no queries in experiment {named}")
            cells[place, column] = rows[method]
    return cells


def _drawn_means(
    answers: Mapping[Coordinates, pd.Series], resamples: int, generator: np.random.Generator
) -> dict[Coordinates, np.ndarray]:
    """Each row's mean over drawn queries, [resamples]; rows on one split share the draws."""
    on_split: dict[tuple, list[Coordinates]] = {}
    for row in answers:
        on_split.setdefault((row.dataset, row.split, row.fold), []).append(row)
    means = {}
    for rows in on_split.values():
        queries = answers[rows[0]].index
        for row in rows:
            if not answers[row].index.equals(queries):
                raise UserError(
                    f"{row}: other queries than {rows[0]}; allowed: the same on a split"
                )
        values = np.stack([answers[row].to_numpy() for row in rows])
        count = len(queries)
        drawn = np.empty((resamples, len(rows)))
        for start in range(0, resamples, _TOGETHER):
            block = drawn[start : start + _TOGETHER]
            often = [_often(count, generator) for _ in block]
            block[:] = np.array(often, dtype=float) @ values.T / count
        means |= dict(zip(rows, drawn.T, strict=True))
    return means


def _often(count: int, generator: np.random.Generator) -> np.ndarray:
    """How often each of so many queries is drawn, whole numbers [count]."""
    return np.bincount(generator.integers(0, count, count), minlength=count)


def _bounds(observed: np.ndarray, draws: np.ndarray, method: int) -> tuple[float, float]:
    """Bounds of a method's average rank, from scores [E, M] and drawn scores [B, E, M]."""
    ahead = (observed - observed[:, [method]]).round(SAME_SCORE)
    deviation = draws - draws[:, :, [method]] - ahead
    error = deviation.std(axis=0, ddof=1)
    error[error < 10.0**-SAME_SCORE] = 0
    scaled = np.divide(abs(deviation), error, where=error > 0, out=np.zeros_like(deviation))
    limit = error * np.quantile(scaled.max(axis=(1, 2)), 0.95)
    better = (ahead > limit).sum(axis=1)
    worse = (ahead < -limit).sum(axis=1)
    return float((1 + better).mean()), float((observed.shape[1] - worse).mean())


def _first(draws: np.ndarray) -> np.ndarray:
    """Share of draws in which each method's average rank is the best, [M]."""
    average = rankdata(-draws.round(SAME_SCORE), axis=2).mean(axis=1).round(SAME_SCORE)
    first = average == average.min(axis=1, keepdims=True)
    return (first / first.sum(axis=1, keepdims=True)).mean(axis=0)
