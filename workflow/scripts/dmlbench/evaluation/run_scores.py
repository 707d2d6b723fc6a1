"""The scores of one run, in long format, and what each query found."""

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from threadpoolctl import threadpool_limits

from dmlbench.data.embeddings import Embedded, read_embeddings
from dmlbench.evaluation.names import quantity
from dmlbench.evaluation.roles import scored, spaces
from dmlbench.evaluation.scoring import Evaluation, caveats, evaluate
from dmlbench.parquet import read_table, write_table

OWN_BEST = "own_best_test_epoch"
"""The rule by which each metric is that of its own best test epoch, as roth2020's tables are."""
_OF_A_QUERY = ("mrr", "r_precision", "map_at_r")


def write_scores(
    *,
    embeddings: Path,
    metrics: list[str],
    threads: int,
    output: Path,
    queries: Path,
    history: Path | None = None,
    epoch_metrics: Sequence[str] = (),
    distance: str = "cosine",
) -> None:
    """Score a run's embeddings under every selection; one row per role, selection and metric.

    Columns: role (`test` or `validation`), selection, metric, value (a fraction). Metrics that were
    scored on the test images after every epoch are also there under `own_best_test_epoch`: each
    one's best value over all evaluated epochs.

    Args:
        embeddings: Parquet file of `dmlbench.data.embeddings`.
        metrics: names of `dmlbench.evaluation.names`.
        distance: as `evaluate` takes it.
        threads: CPU threads of the process.
        output: the Parquet file to write.
        queries: written, too: one row per query that has a positive, with image_id, label, role,
            selection, first_rank (of the nearest positive, counted from 1), r_precision and
            map_at_r (fractions).
        history: Parquet file of the training, of which `epoch_metrics` are read.
        epoch_metrics: those of the history that are shown at their own best epoch.
    """
    limit_threads(threads)
    rows, tables = [], []
    latest: dict[str, tuple[dict, Evaluation]] = {}
    for selection, embedded in read_embeddings(embeddings).items():
        for role, space in spaces(embedded).items():
            # The selected epoch is often the last one.
            if role not in latest or not _alike(space, latest[role][0]):
                wanted = dict.fromkeys([*metrics, *_OF_A_QUERY])
                latest[role] = space, evaluate(**space, metrics=wanted, distance=distance)
            _, result = latest[role]
            warn_of_caveats(result, f"{role}, {selection}")
            scores = {metric: result.scores[metric] for metric in metrics}
            rows += score_rows(scores, role, selection)
            images = embedded[scored(embedded)[role][0]]
            tables.append(_per_query(result, images, role, selection))
    if epoch_metrics:
        rows += score_rows(_own_best(history, epoch_metrics), "test", OWN_BEST)
    write_rows(rows, output)
    write_table(pa.concat_tables(tables), queries)


def _alike(space: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> bool:
    return all(np.array_equal(space[name], other[name]) for name in space)


def score_rows(scores: Mapping[str, float], role: str, selection: str) -> list[dict]:
    """Scores as rows of a run's table."""
    return [
        {"role": role, "selection": selection, "metric": metric, "value": value}
        for metric, value in scores.items()
    ]


def write_rows(rows: list[dict], output: Path) -> None:
    """Write rows of scores as Parquet."""
    write_table(pa.Table.from_pylist(rows), output)


def warn_of_caveats(result: Evaluation, where: str) -> None:
    """Log what a reader of the scores must know."""
    for caveat in caveats(result):
        warnings.warn(f"{where}: {caveat}", stacklevel=2)


def limit_threads(threads: int) -> None:
    """Limit NumPy now, and faiss and torch when they load: few spaces need them."""
    threadpool_limits(threads)
    os.environ["OMP_NUM_THREADS"] = str(threads)


def _own_best(history: Path, metrics: Sequence[str]) -> dict[str, float]:
    """Each metric's best value over the evaluated epochs of a training."""
    table = read_table(history, columns=list(metrics))
    best = {name: pc.min if quantity(name).better == "lower" else pc.max for name in metrics}
    return {name: best[name](table[name]).as_py() for name in metrics}


def _per_query(result: Evaluation, images: Embedded, role: str, selection: str) -> pa.Table:
    count = len(result.row)
    return pa.table(
        {
            "image_id": images.image_ids[result.row],
            "label": images.labels[result.row],
            "role": [role] * count,
            "selection": [selection] * count,
            "first_rank": np.rint(1 / result.per_query["mrr"]).astype(np.int64),
            "r_precision": result.per_query["r_precision"],
            "map_at_r": result.per_query["map_at_r"],
        }
    )
