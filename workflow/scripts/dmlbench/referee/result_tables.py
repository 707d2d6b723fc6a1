"""What a referee says of scores: a sentence, and tables of means, differences and ranks."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from dmlbench.evaluation.names import quantity
from dmlbench.presentation.table import Cell, Column, Table, TableRow, known, legend
from dmlbench.presentation.texts import listed, minus, name, points, rounded
from dmlbench.statistics.equivalence import (
    ALPHA,
    POWER,
    Difference,
    detectable_difference,
    half_interval,
    p_value_of,
)
from dmlbench.statistics.other_classes import ABOUT, SEED, SPLIT
from dmlbench.statistics.summary import in_units, summarize
from dmlbench.statistics.tournament import tournament
from dmlbench.words import counted

_NAMED = 3
"""The most differences that a sentence names."""


class Contrast(NamedTuple):
    """A method against another one on a data set.

    Attributes:
        unit: what repeats behind the difference (`other_classes.ABOUT`).
    """

    metric: str
    data: str
    method: str
    reference: str
    difference: Difference
    unit: str

    @property
    def p_value(self) -> float:
        return p_value_of(self.difference)


def means(path: Path, scores: pd.DataFrame) -> Table:
    """Means and standard deviations over seeds, or over splits whose seeds are averaged."""
    by_split = in_units(scores).groupby(["method", "dataset", "metric", "split"], sort=False)
    several = scores.groupby("dataset")["split"].transform("nunique") > 1
    means = by_split["value"].mean().reset_index()
    if not several.any():
        means = in_units(scores)
    found = summarize(means, ["method", "dataset", "metric"])
    columns = {
        (each.dataset, each.metric): Column(
            "_".join(filter(None, (each.dataset, each.metric))),
            name({}, each.metric),
            group=each.dataset,
            better=quantity(each.metric).better or "higher",
        )
        for each in found.drop_duplicates(["dataset", "metric"]).itertuples()
    }
    cells = {(each.method, each.dataset, each.metric): each for each in found.itertuples()}
    rows = tuple(
        TableRow(
            method,
            tuple(_mean(cells.get((method, *key))) for key in columns),
        )
        for method in scores["method"].unique()
    )
    over = "splits of the classes, their seeds averaged" if several.any() else "seeds"
    caption = f"Mean ± standard deviation over {over}.{legend(list(columns.values()))}"
    return Table(
        "scores", f"Scores of {path.name}", caption, "Method", tuple(columns.values()), rows
    )


def _mean(summary) -> Cell:
    if summary is None:
        return Cell(None)
    return Cell(summary.mean, summary.std if summary.seeds > 1 else None)


def differences(contrasts: list[Contrast], corrected: list[float]) -> Table:
    columns = (
        Column("difference", "mean", group="Difference", signed=True),
        Column("low", "from", group="In 95 %", signed=True),
        Column("high", "to", group="In 95 %", signed=True),
        Column("p", "p", decimals=3),
        Column("holm", "p (Holm)", decimals=3),
        Column("detectable", "could be seen"),
        Column("about", "about other"),
    )
    rows = []
    for each, p_holm in zip(contrasts, corrected, strict=True):
        difference, half = each.difference, half_interval(each.difference)
        numbers = (
            difference.value,
            difference.value - half,
            difference.value + half,
            each.p_value,
            p_holm,
            detectable_difference(difference.error, difference.freedom),
        )
        about = "seeds" if each.unit == SEED else "classes"
        panel = ", ".join(filter(None, (each.data, name({}, each.metric))))
        cells = (*(known(float(number)) for number in numbers), Cell(about))
        rows.append(TableRow(f"{each.method} less {each.reference}", cells, panel=panel))
    units = dict.fromkeys(each.unit for each in contrasts)
    return Table(
        "differences",
        "Differences",
        f"In the unit of the metric. About {' or '.join(ABOUT[unit] for unit in units)}.",
        "Methods",
        columns,
        tuple(rows),
        notes=(
            "p (Holm): p, corrected for all differences of a metric. Could be seen: the difference "
            f"that this many repeats show with a probability of {POWER:.0%}.",
            *(_NOTES[unit] for unit in units),
        ),
    )


_NOTES = {
    SEED: "Other seeds are other trainings on the same classes: nothing is said of other classes.",
    SPLIT: (
        "Splits are of the same classes, so that more of them do not take the error to 0 "
        "(Nadeau and Bengio, for halves that train and test)."
    ),
}


def ranks(scores: pd.DataFrame, metric: str) -> Table | None:
    """Average ranks over data sets and splits; None if there is one, or if methods lack some."""
    own = scores[scores["metric"] == metric]
    methods = list(own["method"].unique())
    there = own.groupby(["dataset", "split"])["method"].nunique()
    if len(there) < 2 or len(methods) < 2 or there.min() < len(methods):
        return None
    board = tournament(own, metric=metric, methods=methods, selection="none")
    first = board.iloc[0]
    notes = []
    if first.friedman_p == first.friedman_p:
        notes.append(
            f"Friedman's test that all rank alike: p = {first.friedman_p:.3g}. Nemenyi's critical "
            f"difference of average ranks, at 5 %: {rounded(first.critical_difference, 2)}."
        )
    if first.unit:
        notes.append(
            f"Intervals are about {ABOUT[first.unit]}; splits are of the same classes, so that "
            "neither Friedman's test nor a critical difference applies."
        )
    columns = [Column("average_rank", "average rank", better="lower")]
    if board["rank_low"].notna().all():
        columns += [Column("rank_low", "from"), Column("rank_high", "to")]
    columns.append(Column("apart_from", "differs from"))
    rows = tuple(
        TableRow(
            row["method"],
            tuple(
                Cell(", ".join(row[column.name]) or "none")
                if column.name == "apart_from"
                else known(float(row[column.name]))
                for column in columns
            ),
        )
        for row in board.to_dict("records")
    )
    return Table(
        f"ranks_{metric}",
        f"Ranks by {name({}, metric)}",
        f"Over {counted(first.experiments, 'data set or split', 'data sets and splits')}; seeds "
        "are averaged first.",
        "Method",
        tuple(columns),
        rows,
        notes=tuple(notes),
    )


def sentence(contrasts: list[Contrast], corrected: list[float]) -> str:
    metric = contrasts[0].metric
    own = [
        (each, p_holm)
        for each, p_holm in zip(contrasts, corrected, strict=True)
        if each.metric == metric
    ]
    about = " or ".join(ABOUT[unit] for unit in dict.fromkeys(each.unit for each, _ in own))
    unknown_error = [each for each, _ in own if np.isnan(each.difference.error)]
    if len(unknown_error) == len(own):
        return (
            f"By {name({}, metric)} nothing can be said: each method has one value, and a "
            "difference without repeats has no error."
        )
    shown = [each for each, p_holm in own if p_holm <= ALPHA]
    tested = f"of {counted(len(own), 'difference')} in {name({}, metric)} (Holm, {about})"
    if shown:
        parts = [_words(each) for each in shown[:_NAMED]]
        more = [f"{len(shown) - _NAMED} more"] if len(shown) > _NAMED else []
        verb = "is" if len(shown) == 1 else "are"
        return f"{len(shown)} {tested} {verb} shown: {listed(parts + more)}."
    seen = [
        detectable_difference(each.difference.error, each.difference.freedom)
        for each, _ in own
        if each.difference.error > 0
    ]
    largest = max((each for each, _ in own), key=lambda each: abs(each.difference.value))
    could = (
        f"; {rounded(max(seen), 1)}{points(metric)} could have been seen in each of them"
        if seen
        else ""
    )
    return f"None {tested} is shown{could}. The largest: {_words(largest)}."


def _words(each: Contrast) -> str:
    """`proxy_anchor is 2.3 points [1.1, 3.5] above contrastive on cars`."""
    value, half = each.difference.value, half_interval(each.difference)
    ends = sorted(value * sign + end for sign in [1 if value >= 0 else -1] for end in (-half, half))
    interval = ", ".join(minus(rounded(end, 2)) for end in ends) if half == half else "unknown"
    where, on = "above" if value >= 0 else "below", f" on {each.data}" if each.data else ""
    apart = f"{rounded(abs(value), 2)}{points(each.metric)} [{interval}]"
    return f"{each.method} is {apart} {where} {each.reference}{on}"
