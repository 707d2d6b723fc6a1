"""Published and printed scores in the forms that docs/findings/ compares."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from dmlbench.statistics.aggregation import read_scores
from dmlbench.statistics.other_classes import of_splits as on_other_classes
from dmlbench.statistics.other_classes import prior_of
from scipy import stats

REPOSITORY = Path(__file__).resolve().parents[1]
PUBLISHED = REPOSITORY / "results" / "published"


def last_epoch(
    study: str, metric: str = "recall_at_1", *, selection: str = "last_epoch", **where: str
) -> pd.DataFrame:
    """Percent by seed (rows) and method, where other columns have these values."""
    scores = _of_test_images(study, metric, selection)
    for column, value in where.items():
        scores = scores[scores[column] == value]
    return 100 * scores.pivot(index="seed", columns="method", values="value")


def by_split(study: str, metric: str) -> pd.DataFrame:
    """Percent by split of the classes (rows), and by variant and method: means over seeds."""
    return _means(study, metric, "split", ["variant", "method"])


def by_seed(study: str, metric: str) -> pd.DataFrame:
    """Percent by seed (rows), and by variant and method, of a study of one split."""
    return _means(study, metric, "seed", ["variant", "method"])


def by_size(study: str, metric: str) -> pd.DataFrame:
    """Percent by method (rows) and embedding size: means over seeds."""
    return _means(study, metric, "method", "embedding_dim")


def repeated(
    study: str, metric: str, columns: Sequence[str] = ("variant", "method")
) -> pd.DataFrame:
    """Percent by split and seed (rows), and by variant and method."""
    return _means(study, metric, ["split", "seed"], list(columns))


def mean_ranks(scores: pd.DataFrame) -> pd.Series:
    """Mean rank of each method (columns) over splits; 1 is best."""
    return scores.rank(axis=1, ascending=False).mean()


def of_pairs(differences) -> tuple[float, float, float]:
    """The mean with Student's interval."""
    test = stats.ttest_1samp(differences, 0)
    return (np.mean(differences), *test.confidence_interval(0.95))


def of_splits(differences, arms: pd.DataFrame | None = None) -> tuple[float, float, float]:
    """The mean over splits of the classes with its interval for other classes.

    Args:
        arms: the scores [splits, arms] of which two are subtracted; None for other contrasts.
    """
    prior = None if arms is None else prior_of(arms.to_numpy().T)
    value, error, freedom = on_other_classes(differences, prior=prior)
    half = stats.t.ppf(0.975, freedom) * error
    return value, value - half, value + half


def _means(
    study: str, metric: str, rows: str | list[str], columns: str | list[str]
) -> pd.DataFrame:
    return 100 * _of_test_images(study, metric).pivot_table("value", rows, columns)


def _of_test_images(study: str, metric: str, selection: str = "last_epoch") -> pd.DataFrame:
    return read_scores(PUBLISHED / study / "scores.parquet").query(
        "metric == @metric and role == 'test' and selection == @selection"
    )


def every_metric(repeated: str, study: str) -> pd.DataFrame:
    """Plain numbers by split or seed (rows), and by metric, variant and method: means."""
    scores = read_scores(PUBLISHED / study / "scores.parquet")
    return scores.pivot_table("value", index=repeated, columns=["metric", "variant", "method"])


def printed_sizes(data: str) -> dict[str, pd.DataFrame]:
    """For each network, the printed R@1: by method (rows) and embedding size."""
    tables = pd.concat(
        pd.read_csv(REPOSITORY / f"config/reference/psomas2020/table_{number}.csv")
        for number in {"birds": ("06", "07", "08"), "cars": ("09", "20", "21")}[data]
    )
    return {
        network: printed.pivot(index="method", columns="embedding_dim", values="value")
        for network, printed in tables.query("metric == 'recall_at_1'").groupby("network")
    }
