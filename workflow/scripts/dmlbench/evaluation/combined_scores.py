"""Scores of several folds' embeddings of the same test images together (musgrave2020)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dmlbench.data.embeddings import read_embeddings
from dmlbench.errors import UserError
from dmlbench.evaluation.combination import concatenate, score_separated
from dmlbench.evaluation.roles import spaces
from dmlbench.evaluation.run_scores import limit_threads, score_rows, write_rows
from dmlbench.evaluation.scoring import score


def write_combined_scores(
    embeddings: Sequence[Path], *, form: str, metrics: Sequence[str], threads: int, output: Path
) -> None:
    """Score the test images of several folds under every selection.

    Args:
        embeddings: one file of `dmlbench.data.embeddings` per fold.
        form: `concatenated`: the folds' embeddings as one; `separated`: each alone, averaged.
        metrics: names of `dmlbench.evaluation.names`.
        threads: CPU threads of the process.
        output: written: one row per selection and metric, as a run's scores are.

    Raises:
        UserError: the folds test different images, or search a gallery.
    """
    limit_threads(threads)
    folds = [read_embeddings(path) for path in embeddings]
    rows = []
    for selection in folds[0]:
        tests = [spaces(fold[selection])["test"] for fold in folds]
        labels, parts = tests[0]["labels"], [test["embeddings"] for test in tests]
        for path, test in zip(embeddings, tests, strict=True):
            if "gallery" in test or not np.array_equal(test["ids"], tests[0]["ids"]):
                raise UserError(f"{path}: not the test images of {embeddings[0]} alone")
        options = {"ids": tests[0]["ids"], "metrics": list(metrics)}
        if form == "concatenated":
            scores = score(concatenate(parts), labels, **options)
        else:
            scores = score_separated(parts, labels, **options)
        rows += score_rows(scores, "test", selection)
    write_rows(rows, output)
