"""The scores of a matrix of embeddings, with intervals for other test classes."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dmlbench.evaluation import bootstrap, evaluate
from dmlbench.evaluation.names import RETRIEVAL, kind, metric_names, quantity
from dmlbench.evaluation.scoring import caveats
from dmlbench.matrix_files import read_matrix
from dmlbench.presentation.table import Table
from dmlbench.presentation.texts import rounded, with_unit
from dmlbench.referee.embeddings import (
    Labels,
    first_of_copies,
    read_labels,
    suspicions,
)
from dmlbench.referee.tables import kind_of
from dmlbench.statistics.other_classes import ABOUT, TEST_CLASS

EVERY = (
    *(f"recall_at_{k}" for k in (1, 2, 4, 8)),
    "precision_at_5",
    *RETRIEVAL,
    *(each for each in metric_names() if kind(each) in ("clustering", "structure")),
)
"""All metrics, those at k for usual k."""


class Scored(NamedTuple):
    """Scores in words and numbers.

    Attributes:
        table: one row per metric.
        warnings: what may make them wrong.
    """

    table: Table
    warnings: list[str]


def scored(
    embeddings: Path,
    labels: Path,
    *,
    column: str = "label",
    metrics: Sequence[str] = EVERY,
    distance: str = "cosine",
) -> Scored:
    """Score the rows of a file.

    Args:
        embeddings: .npy or Parquet, one row per image.
        labels: CSV or Parquet, as `embeddings.read_labels` takes it.
        column: that of the classes.
        metrics: names of `dmlbench.evaluation.names`.
        distance: `cosine` or `euclidean`.

    Raises:
        UserError: as `read_labels`, `read_matrix` and `evaluate`.
    """
    known = read_labels(labels, column=column)
    vectors = read_matrix(embeddings, len(known.label))
    result = evaluate(**known.space(vectors), metrics=list(metrics), distance=distance)
    classes = known.label[known.queries][result.row]
    records = []
    for metric in metrics:
        factor = quantity(metric).factor
        shown = factor * result.scores[metric]
        record = {"label": with_unit({}, metric), "score": shown if factor > 1 else f"{shown:.4g}"}
        if metric in result.per_query:
            interval = bootstrap(result.per_query[metric], classes=classes)
            record |= {"low": factor * interval.low, "high": factor * interval.high}
        records.append(record)
    view = kind_of("scores", f"Scores of {embeddings.name}")
    caption = view.said(
        queries=len(known.queries),
        classes=len(set(classes)),
        searched="each other" if known.gallery is None else f"{len(known.gallery):,} others",
        by="cosine similarity" if distance == "cosine" else "Euclidean distance",
    )
    notes = [view.said("interval", about=ABOUT[TEST_CLASS]), view.said("metrics")]
    table = view.listed("Metric", view.shown(), records, caption, notes)
    warnings = [*suspicions(vectors, known), *caveats(result)]
    return Scored(table, warnings + _without_copies(vectors, known, distance))


def _without_copies(vectors: np.ndarray, labels: Labels, distance: str) -> list[str]:
    """R@1 once copies are left out."""
    if labels.gallery is not None:
        return []
    own = labels.queries
    kept = own[first_of_copies(vectors[own], labels.label[own])]
    if len(kept) == len(own):
        return []
    result = evaluate(vectors[kept], labels.label[kept], metrics=["recall_at_1"], distance=distance)
    return [f"without copies R@1 is {rounded(100 * result.scores['recall_at_1'], 2)} %"]
