"""How sure the ranks of a tournament are: other test images, and other seeds where there are any.

Source: Mogstad, Romano, Shaikh and Wilhelm, Inference for ranks with applications to mobility
across neighbourhoods and academic achievement across countries, Review of Economic Studies 91,
2024. Resampling ranks themselves would not do: noise pulls every average rank to the middle.
"""

import os
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from dmlbench.errors import UserError
from dmlbench.evaluation.names import split_at_k
from dmlbench.parquet import read_table
from dmlbench.plan.run import Run
from dmlbench.statistics.aggregation import SAME_SCORE

COLUMNS = ["method", "rank_low", "rank_high", "probability_first"]

_KEPT = {"mrr": "first_rank", "r_precision": "r_precision", "map_at_r": "map_at_r"}


def read_answers(
    files: Iterable[str | os.PathLike], *, metric: str, selection: str
) -> dict[Run, pd.Series]:
    """What each test query scored, run by run.

    Args:
        files: Parquet files of queries, as `evaluation.run_scores.write_scores` leaves them.
        metric: recall_at_k, mrr, r_precision or map_at_r.
        selection: the selection rule whose scores count.

    Returns:
        run -> the metric of each query, a fraction, by image id in ascending order; empty for a
        metric that no query has by itself, such as nmi.
    """
    k = split_at_k(metric)
    column = "first_rank" if k and k[0] == "recall" else _KEPT.get(metric)
    if column is None:
        return {}
    kept = [("role", "==", "test"), ("selection", "==", selection)]
    answers = {}
    for file in files:
        table = read_table(file, columns=["run", "image_id", column], filters=kept)
        values = pd.Series(table[column].to_numpy(), table["image_id"].to_numpy()).sort_index()
        if column == "first_rank":
            values = (values <= k[1]).astype(float) if k else 1 / values
        for run in table["run"].unique().to_pylist():
            answers[Run.parse(run)] = values
    return answers


def rank_confidence(
    answers: Mapping[Run, pd.Series],
    *,
    methods: Sequence[str],
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """For each method an interval of its average rank, and how often it comes first.

    The scores are drawn again: the same queries for all runs on a data set's split, so that
    methods and experiments are compared on equal images, and, where a method has n > 1 seeds in
    an experiment, n - 1 of these with replacement, whose mean has the variance of n real ones
    (McCarthy and Snowden 1985). With one seed, chance in training is not in the intervals.

    In an experiment a method's rank lies between 1 + the number of methods that are surely better
    and k - the number of those that are surely worse. Sure is a difference beyond c standard
    errors, c such that no difference of this method in any experiment deviates further in `level`
    of the draws. The interval of the average rank is the average of those bounds.

    Args:
        answers: as `read_answers` gives them; every method in every experiment.
        methods: who takes part; other runs are left out.
        level: confidence in each method's interval, in (0, 1).
        resamples: number of draws.
        seed: the same seed gives the same numbers.

    Returns:
        `COLUMNS`, a row a method; `probability_first` is the share of draws in which its average
        rank is the best, which methods with the same one share.

    Raises:
        UserError: runs on one split with different queries; a method absent from an experiment.
    """
    answers = {run: values for run, values in answers.items() if run.method in methods}
    cells = _cells(answers, methods)
    generator = np.random.default_rng(seed)
    drawn = _drawn_means(answers, resamples, generator)
    draws = np.empty((resamples, *cells.shape))
    observed = np.empty(cells.shape)
    for place, runs in np.ndenumerate(cells):
        observed[place] = np.mean([answers[run].mean() for run in runs])
        of_seeds = np.stack([drawn[run] for run in runs], axis=1)
        chosen = generator.integers(0, len(runs), (resamples, max(1, len(runs) - 1)))
        draws[:, *place] = np.take_along_axis(of_seeds, chosen, axis=1).mean(axis=1)
    bounds = [_bounds(observed, draws, number, level) for number in range(len(methods))]
    return pd.DataFrame(
        {
            "method": list(methods),
            "rank_low": [low for low, _ in bounds],
            "rank_high": [high for _, high in bounds],
            "probability_first": _first(draws),
        },
        columns=COLUMNS,
    )


def _cells(answers: Mapping[Run, pd.Series], methods: Sequence[str]) -> np.ndarray:
    """The runs of each experiment (rows) and method (columns)."""
    found: dict[tuple, dict[str, list[Run]]] = {}
    for run in answers:
        experiment = (run.dataset, run.network, run.embedding_dim, run.split, run.fold)
        found.setdefault(experiment, {}).setdefault(run.method, []).append(run)
    cells = np.empty((len(found), len(methods)), dtype=object)
    for row, (experiment, runs) in enumerate(found.items()):
        for column, method in enumerate(methods):
            if method not in runs:
                named = "/".join(str(part) for part in experiment if part is not None)
                raise UserError(f"method {method} has no queries in experiment {named}")
            cells[row, column] = runs[method]
    return cells


def _drawn_means(
    answers: Mapping[Run, pd.Series], resamples: int, generator: np.random.Generator
) -> dict[Run, np.ndarray]:
    """Each run's mean over drawn queries, [resamples]; runs on one split share the draws."""
    on_split: dict[tuple, list[Run]] = {}
    for run in answers:
        on_split.setdefault((run.dataset, run.split, run.fold), []).append(run)
    means = {}
    for runs in on_split.values():
        queries = answers[runs[0]].index
        for run in runs:
            if not answers[run].index.equals(queries):
                raise UserError(
                    f"{run.path}: other queries than {runs[0].path}; allowed: the same on a split"
                )
        values = np.stack([answers[run].to_numpy() for run in runs])
        count = len(queries)
        rows = np.empty((resamples, len(runs)))
        for number in range(resamples):
            often = np.bincount(generator.integers(0, count, count), minlength=count)
            rows[number] = values @ often / count
        means |= dict(zip(runs, rows.T, strict=True))
    return means


def _bounds(
    observed: np.ndarray, draws: np.ndarray, method: int, level: float
) -> tuple[float, float]:
    """Bounds of a method's average rank, from scores [E, M] and drawn scores [B, E, M]."""
    ahead = (observed - observed[:, [method]]).round(SAME_SCORE)
    deviation = draws - draws[:, :, [method]] - ahead
    error = deviation.std(axis=0, ddof=1)
    error[error < 10.0**-SAME_SCORE] = 0
    scaled = np.divide(abs(deviation), error, where=error > 0, out=np.zeros_like(deviation))
    limit = error * np.quantile(scaled.max(axis=(1, 2)), level)
    better = (ahead > limit).sum(axis=1)
    worse = (ahead < -limit).sum(axis=1)
    return float((1 + better).mean()), float((observed.shape[1] - worse).mean())


def _first(draws: np.ndarray) -> np.ndarray:
    """Share of draws in which each method's average rank is the best, [M]."""
    average = rankdata(-draws.round(SAME_SCORE), axis=2).mean(axis=1).round(SAME_SCORE)
    first = average == average.min(axis=1, keepdims=True)
    return (first / first.sum(axis=1, keepdims=True)).mean(axis=0)
