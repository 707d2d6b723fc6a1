"""Two matrices of embeddings of the same rows, compared query by query."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from dmlbench.errors import UserError
from dmlbench.evaluation import evaluate
from dmlbench.evaluation.names import kind, quantity
from dmlbench.matrix_files import read_matrix
from dmlbench.presentation.table import Table
from dmlbench.presentation.texts import minus, name, points, rounded
from dmlbench.referee.embeddings import read_labels, suspicions
from dmlbench.referee.tables import kind_of, tested
from dmlbench.statistics.equivalence import (
    ALPHA,
    POWER,
    Difference,
    detectable_difference,
    equivalence_p,
    half_interval,
    p_value_of,
)
from dmlbench.statistics.other_classes import ABOUT, TEST_CLASS, of_test_classes
from dmlbench.statistics.paired import holm

METRICS = ("recall_at_1", "r_precision", "map_at_r")


class Compared(NamedTuple):
    """A comparison in words and numbers.

    Attributes:
        sentence: the answer by the first metric.
        table: one row per metric.
        warnings: what may make it wrong.
    """

    sentence: str
    table: Table
    warnings: list[str]


def compared(
    first: Path,
    second: Path,
    labels: Path,
    *,
    column: str = "label",
    metrics: Sequence[str] = METRICS,
    distance: str = "cosine",
    margin: float = 1.0,
) -> Compared:
    """How much better or worse the second file's embeddings are, for other test classes.

    Args:
        first, second: .npy or Parquet, rows of the same images in the same order.
        labels, column, distance: as `score.scored` takes them.
        metrics: retrieval metrics, each a mean over queries.
        margin: the smallest difference that matters, in points.

    Raises:
        UserError: as `score.scored`; a metric that is no mean over queries, a margin of 0 or less,
            one class.
    """
    for metric in metrics:
        if kind(metric) != "retrieval":
            raise UserError(f"metric {metric}: no mean over queries; allowed: retrieval metrics")
    if not margin > 0:
        raise UserError(f"margin {margin}; allowed: above 0, in points")
    of_rows = read_labels(labels, column=column)
    both = [read_matrix(path, len(of_rows.label)) for path in (first, second)]
    results = [
        evaluate(**of_rows.space(vectors), metrics=list(metrics), distance=distance)
        for vectors in both
    ]
    classes = of_rows.label[of_rows.queries][results[0].row]
    if len(set(classes)) < 2:
        raise UserError(f"{labels}: queries of one class; allowed: two or more")
    found = {}
    for metric in metrics:
        factor = quantity(metric).factor
        one, other = (factor * result.per_query[metric] for result in results)
        found[metric] = of_test_classes(other - one, classes)
    p_values = {metric: p_value_of(difference) for metric, difference in found.items()}
    corrected = holm(pd.Series(p_values, dtype="float64"))
    shown = kind_of("comparison", f"{second.name} less {first.name}")
    records = [
        {
            "label": name({}, metric),
            "first": quantity(metric).factor * results[0].scores[metric],
            "second": quantity(metric).factor * results[1].scores[metric],
            **tested(difference),
            "holm": corrected[metric],
            "equivalent": float(equivalence_p(difference, margin)),
        }
        for metric, difference in found.items()
    ]
    about, counts = ABOUT[TEST_CLASS], {"queries": len(classes), "classes": len(set(classes))}
    table = shown.listed(
        "Metric",
        shown.shown(first=first.stem, second=second.stem, margin=margin),
        records,
        shown.said(**counts),
        [shown.said("tests", about=about, count=len(found), margin=margin, power=POWER)],
    )
    metric = metrics[0]
    sentence = _sentence(
        metric, found[metric], corrected[metric], len(set(classes)), margin, (first, second)
    )
    suspicious = [
        f"{path.name}: {text}"
        for path, vectors in zip((first, second), both, strict=True)
        for text in suspicions(vectors, of_rows)
    ]
    return Compared(sentence, table, suspicious)


def _sentence(
    metric: str,
    difference: Difference,
    p_value: float,
    classes: int,
    margin: float,
    names: tuple[Path, Path],
) -> str:
    unit, half = points(metric), half_interval(difference)
    first, second = (path.stem for path in names)
    ends = [minus(rounded(difference.value + end, 2)) for end in (-half, half)]
    apart = f"{rounded(abs(difference.value), 1)}{unit} of {name({}, metric)}"
    where = "above" if difference.value > 0 else "below"
    if not difference.error:
        return f"{second} and {first} are {apart} apart, in each class alike."
    seen = rounded(detectable_difference(difference.error, difference.freedom), 1)
    is_equivalent = equivalence_p(difference, margin) <= ALPHA
    within = f"equivalent within {margin:g}{unit}"
    if p_value <= ALPHA:
        verdict = f"{second} is {'better' if difference.value > 0 else 'worse'}"
        verdict += f", though {within}" if is_equivalent else ""
    else:
        verdict = f"they are {within}" if is_equivalent else "which of them is better is not shown"
    return (
        f"{second} is {apart} {where} {first} [{ends[0]}, {ends[1]}]; with these {classes:,} "
        f"classes {seen} could have been seen: {verdict} ({ABOUT[TEST_CLASS]})."
    )
