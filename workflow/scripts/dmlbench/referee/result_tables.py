"""What a referee says of scores: a sentence, and tables of means, differences and ranks."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from dmlbench.evaluation.names import quantity
from dmlbench.presentation.table import Column, Table, TableRow, legend, summarized
from dmlbench.presentation.texts import listed, minus, name, points, rounded
from dmlbench.referee.tables import kind_of, tested
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
    rows = [
        TableRow(method, tuple(summarized(cells.get((method, *key))) for key in columns))
        for method in scores["method"].unique()
    ]
    view = kind_of("means", f"Scores of {path.name}", id="scores")
    caption = view.said(over=view.said(SPLIT if several.any() else SEED))
    caption += legend(list(columns.values()))
    return view.table("Method", columns.values(), rows, caption)


def differences(contrasts: list[Contrast], corrected: list[float]) -> Table:
    view, units = kind_of("differences", "Differences"), dict.fromkeys(c.unit for c in contrasts)
    records = [
        {
            "label": f"{each.method} less {each.reference}",
            "panel": ", ".join(filter(None, (each.data, name({}, each.metric)))),
            **tested(each.difference),
            "holm": p_holm,
            "about": "seeds" if each.unit == SEED else "classes",
        }
        for each, p_holm in zip(contrasts, corrected, strict=True)
    ]
    caption = view.said(about=" or ".join(ABOUT[unit] for unit in units))
    notes = [view.said("tests", power=POWER), *map(view.said, units)]
    return view.listed("Methods", view.shown(), records, caption, notes)


def ranks(scores: pd.DataFrame, metric: str) -> Table | None:
    """Average ranks over data sets and splits; None if there is one, or if methods lack some."""
    own = scores[scores["metric"] == metric]
    methods = list(own["method"].unique())
    there = own.groupby(["dataset", "split"])["method"].nunique()
    if len(there) < 2 or len(methods) < 2 or there.min() < len(methods):
        return None
    board = tournament(own, metric=metric, methods=methods, selection="none")
    first, notes = board.iloc[0], []
    view = kind_of("ranks", f"Ranks by {name({}, metric)}", id=f"ranks_{metric}")
    if first.friedman_p == first.friedman_p:
        difference = rounded(first.critical_difference, 2)
        notes.append(view.said("friedman", p=first.friedman_p, difference=difference))
    if first.unit:
        notes.append(view.said(SPLIT, about=ABOUT[first.unit]))
    apart = [", ".join(others) or "none" for others in board["apart_from"]]
    records = board.assign(label=board["method"], apart_from=apart).to_dict("records")
    columns = [column for column in view.shown() if board[column.name].notna().all()]
    experiments = counted(first.experiments, "data set or split", "data sets and splits")
    return view.listed("Method", columns, records, view.said(experiments=experiments), notes)


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
