"""The scores of one run, in long format, and what each query found."""

import os
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from dmlbench.data.embeddings import Embedded, read_embeddings
from dmlbench.evaluation.roles import scored, spaces
from dmlbench.evaluation.scoring import Evaluation, caveats, evaluate
from dmlbench.parquet import write_table

_OF_A_QUERY = ("mrr", "r_precision", "map_at_r")


def write_scores(
    *,
    embeddings: Path,
    metrics: list[str],
    threads: int,
    output: Path,
    queries: Path,
) -> None:
    """Score a run's embeddings under every selection; one row per role, selection and metric.

    Columns: role (`test` or `validation`), selection, metric, value (a fraction).

    Args:
        embeddings: Parquet file of `dmlbench.data.embeddings`.
        metrics: names of `dmlbench.evaluation.names`.
        threads: CPU threads of the process.
        output: the Parquet file to write.
        queries: written, too: one row per query that has a positive, with image_id, label, role,
            selection, first_rank (of the nearest positive, counted from 1), r_precision and
            map_at_r (fractions).
    """
    limit_threads(threads)
    rows, found = [], []
    for selection, embedded in read_embeddings(embeddings).items():
        for role, space in spaces(embedded).items():
            result = evaluate(**space, metrics=dict.fromkeys([*metrics, *_OF_A_QUERY]))
            warn_of_caveats(result, f"{role}, {selection}")
            scores = {metric: result.scores[metric] for metric in metrics}
            rows += score_rows(scores, role, selection)
            images = embedded[scored(embedded)[role][0]]
            found.append(_per_query(result, images, role, selection))
    write_rows(rows, output)
    write_table(pa.concat_tables(found), queries)


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
