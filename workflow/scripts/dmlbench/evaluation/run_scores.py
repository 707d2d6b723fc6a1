"""The scores of one run, in long format, and what each query found."""

import os
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from dmlbench.data.embeddings import Embedded, read_embeddings
from dmlbench.evaluation.roles import scored, spaces
from dmlbench.evaluation.scoring import Evaluation, caveats, evaluate
from dmlbench.files import whole
from dmlbench.plan.run import Run

_OF_A_QUERY = ("mrr", "r_precision", "map_at_r")


def write_scores(
    run: str,
    *,
    embeddings: Path,
    metrics: list[str],
    threads: int,
    output: Path,
    queries: Path | None = None,
) -> None:
    """Score a run's embeddings under every selection, and write a row a metric.

    Columns: run, dataset, network, embedding_dim, method, recipe, split, seed, role (`test` or
    `validation`), selection, metric, value (a fraction).

    Args:
        run: the run's path.
        embeddings: Parquet file of `dmlbench.data.embeddings`.
        metrics: names of `dmlbench.evaluation.names`.
        threads: CPU threads of the process.
        output: the Parquet file to write.
        queries: where to write, too, a row a query that has a positive: run, image_id, label,
            role, selection, first_rank (of the nearest positive, counted from 1), r_precision
            and map_at_r (fractions). None keeps none.
    """
    _limit_threads(threads)
    wanted = dict.fromkeys([*metrics, *(_OF_A_QUERY if queries else ())])
    rows, found = [], []
    for selection, embedded in read_embeddings(embeddings).items():
        for role, space in spaces(embedded).items():
            result = evaluate(**space, metrics=wanted)
            for caveat in caveats(result):
                warnings.warn(f"{role}, {selection}: {caveat}", stacklevel=2)
            rows += [
                _named(run) | {"role": role, "selection": selection, "metric": m, "value": value}
                for m, value in result.scores.items()
                if m in metrics
            ]
            if queries:
                images = embedded[scored(embedded)[role][0]]
                found.append(_per_query(result, images, run, role, selection))
    with whole(output) as unfinished:
        pq.write_table(pa.Table.from_pylist(rows), unfinished)
    if queries:
        with whole(queries) as unfinished:
            pq.write_table(pa.concat_tables(found), unfinished)


def _limit_threads(threads: int) -> None:
    """Of NumPy now, and of torch when it loads: small spaces are scored without it."""
    threadpool_limits(threads)
    os.environ["OMP_NUM_THREADS"] = str(threads)


def _named(run: str) -> dict[str, str | int]:
    named = Run.parse(run)
    return {
        "run": run,
        "dataset": named.dataset,
        "network": named.network,
        "embedding_dim": named.embedding_dim,
        "method": named.method,
        "recipe": named.recipe,
        "split": named.split if named.fold is None else f"{named.split}-fold{named.fold}",
        "seed": named.seed,
    }


def _per_query(
    result: Evaluation, images: Embedded, run: str, role: str, selection: str
) -> pa.Table:
    count = len(result.row)
    return pa.table(
        {
            "run": [run] * count,
            "image_id": images.image_ids[result.row],
            "label": images.labels[result.row],
            "role": [role] * count,
            "selection": [selection] * count,
            "first_rank": np.rint(1 / result.per_query["mrr"]).astype(np.int64),
            "r_precision": result.per_query["r_precision"],
            "map_at_r": result.per_query["map_at_r"],
        }
    )
