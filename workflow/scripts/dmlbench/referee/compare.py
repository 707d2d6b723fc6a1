"""Two matrices of embeddings of the same rows, compared query by query."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from dmlbench.errors import UserError
from dmlbench.evaluation import evaluate
from dmlbench.evaluation.names import kind, quantity
from dmlbench.matrix_files import read_matrix
from dmlbench.presentation.table import Column, Table, TableRow, known
from dmlbench.presentation.texts import minus, name, points, rounded
from dmlbench.referee.embeddings import read_labels, suspicions
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
    columns = (
        Column("first", first.stem, group="Mean"),
        Column("second", second.stem, group="Mean"),
        Column("difference", "mean", group="Difference", signed=True),
        Column("low", "from", group="In 95 %", signed=True),
        Column("high", "to", group="In 95 %", signed=True),
        Column("holm", "p (Holm)", decimals=3),
        Column("equivalent", f"p (within {margin:g})", decimals=3),
        Column("detectable", "could be seen"),
    )
    rows = []
    for metric, difference in found.items():
        factor, half = quantity(metric).factor, half_interval(difference)
        cells = (
            *(factor * result.scores[metric] for result in results),
            difference.value,
            difference.value - half,
            difference.value + half,
            corrected[metric],
            equivalence_p(difference, margin),
            detectable_difference(difference.error, difference.freedom),
        )
        rows.append(TableRow(name({}, metric), tuple(known(float(cell)) for cell in cells)))
    table = Table(
        id="comparison",
        title=f"{second.name} less {first.name}",
        caption=f"{len(classes):,} queries of {len(set(classes)):,} classes, in percent.",
        row_header="Metric",
        columns=columns,
        rows=tuple(rows),
        notes=(
            f"Intervals and p: {ABOUT[TEST_CLASS]}. p (Holm): that there is no difference, "
            f"corrected for {len(found)} metrics. p (within {margin:g}): that the difference is at "
            f"least {margin:g} points. Could be seen: with a probability of {POWER:.0%}.",
        ),
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
