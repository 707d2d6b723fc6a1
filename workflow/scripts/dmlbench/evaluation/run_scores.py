"""The scores of one run, in long format."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from dmlbench.data.embeddings import read_embeddings
from dmlbench.evaluation import score
from dmlbench.evaluation.roles import spaces
from dmlbench.files import whole
from dmlbench.plan.run import Run


def write_scores(
    run: str, *, embeddings: Path, metrics: list[str], threads: int, output: Path
) -> None:
    """Score a run's embeddings under every selection, and write a row a metric.

    Columns: run, dataset, network, embedding_dim, method, recipe, split, seed, role (`test` or
    `validation`), selection, metric, value (a fraction).

    Args:
        run: the run's path.
        embeddings: Parquet file of `dmlbench.data.embeddings`.
        metrics: names of `dmlbench.evaluation.names`.
        threads: CPU threads of torch.
        output: the Parquet file to write.
    """
    torch.set_num_threads(threads)
    named = Run.parse(run)
    split = named.split if named.fold is None else f"{named.split}-fold{named.fold}"
    rows = [
        {
            "run": run,
            "dataset": named.dataset,
            "network": named.network,
            "embedding_dim": named.embedding_dim,
            "method": named.method,
            "recipe": named.recipe,
            "split": split,
            "seed": named.seed,
            "role": role,
            "selection": selection,
            "metric": metric,
            "value": value,
        }
        for selection, embedded in read_embeddings(embeddings).items()
        for role, space in spaces(embedded).items()
        for metric, value in score(**space, metrics=metrics).items()
    ]
    with whole(output) as unfinished:
        pq.write_table(pa.Table.from_pylist(rows), unfinished)
