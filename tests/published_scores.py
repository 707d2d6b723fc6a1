"""Published and printed scores in the forms that docs/results.md compares."""

import pandas as pd
from dmlbench.statistics.aggregation import read_scores
from project import REPOSITORY

PUBLISHED = REPOSITORY / "results" / "published"


def last_epoch(study: str, metric: str, **where: str) -> pd.DataFrame:
    """Percent by seed (rows) and method."""
    scores = _of_test_images(study, metric)
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


def _means(study: str, metric: str, rows: str, columns: str | list[str]) -> pd.DataFrame:
    return 100 * _of_test_images(study, metric).pivot_table("value", rows, columns)


def _of_test_images(study: str, metric: str) -> pd.DataFrame:
    return read_scores(PUBLISHED / study / "scores.parquet").query(
        "metric == @metric and role == 'test' and selection == 'last_epoch'"
    )


def over_seeds(study: str) -> pd.DataFrame:
    """Percent: mean and standard deviation over the seeds of every score that the study has."""
    scores = read_scores(PUBLISHED / study / "scores.parquet")
    repeated = [name for name in scores if name not in ("run", "seed", "value")]
    return 100 * scores.groupby(repeated, dropna=False)["value"].agg(["mean", "std"])


def every_metric(repeated: str, study: str) -> pd.DataFrame:
    """Plain numbers by split or seed (rows), and by metric, variant and method: means."""
    scores = read_scores(PUBLISHED / study / "scores.parquet")
    return scores.pivot_table("value", index=repeated, columns=["metric", "variant", "method"])


def printed_sizes(data: str) -> list[pd.DataFrame]:
    """For each network, the printed R@1: by method (rows) and embedding size."""
    tables = [
        pd.read_csv(REPOSITORY / f"config/reference/psomas2020/table_{number}.csv")
        for number in {"birds": ("06", "07", "08"), "cars": ("09", "20", "21")}[data]
    ]
    return [
        printed.query("metric == 'recall_at_1'").pivot(
            index="method", columns="embedding_dim", values="value"
        )
        for printed in tables
    ]


def printed_ranks() -> pd.Series:
    """The printed mean rank of each method on birds."""
    printed = pd.read_csv(REPOSITORY / "config/reference/psomas2020/table_11.csv").query(
        "metric == 'tournament_average_rank' and dataset == 'cub200'"
    )
    return printed.set_index("method")["value"]
