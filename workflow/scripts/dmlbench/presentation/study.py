"""A study as shown to readers, and its headline numbers."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

import pandas as pd

from dmlbench.evaluation.names import quantity
from dmlbench.presentation.texts import SIGNIFICANT, name
from dmlbench.statistics.aggregation import in_rows, read_scores
from dmlbench.statistics.summary import select

Path = str | os.PathLike

_HEADLINE_METRICS = ("recall_at_1", "r_precision", "map_at_r")


class StudyPage(TypedDict):
    """A study as the report and the terminal show it.

    A study without a tournament has no selection, metric, methods or ranked.

    Attributes:
        id: the study's name on the command line.
        title, description: one line and one paragraph about it.
        source: the paper that it reproduces: authors, title, where and when it appeared; empty for
            none.
        question: the question that it asks.
        command: the command that reproduces it.
        selection: the selection rule of its scores.
        metric: the metric of its tournament.
        methods: the methods of its tournament.
        ranked: the columns of its rows, which the headline is about.
        baseline: the method shown next to the winner, which trains nothing, or None.
        answer: ids of the tables that answer the question; none if the tournament does.
        years: method -> the year that its loss was published.
        titles: id -> display name, of methods, metrics, data sets, networks.
        scores: Parquet, as `statistics.aggregation.aggregate` writes it.
        tournament: the ranks of its methods: `csv` and `parquet`, as
            `statistics.tournament.write_tournament` writes them, or None.
        timings: CSV, as `statistics.timings.timings` writes it, or None.
        browser: HTML, as `runs.write_runs` writes it, or None.
        document: LaTeX, as `document.write_document` writes it.
        tables, figures: in the order of reading: `id`, `title`, `caption`, and a file for each
            format, as `table.write` and `style.save` write them; of tables also `kind` and
            `options`, how they were built.
        protocol: label -> plain text: data set, network, recipe, seeds, machine, software, ...
        folders: title of a data set of the user's own -> its index and a split, as
            `data.account.account_of` reads them.
        agreement: CSV, as `statistics.agreement.agreement` writes it, or None if the study is not a
            paper's.
        claims: CSV, as `statistics.claims.claims` writes it, or None if the study is not a paper's.
        audit: the check of the study's printed numbers: `csv` and `md`, as `statistics.audit.audit`
            writes them, or None.
        rehearsal: whether its numbers are toy numbers.
    """

    id: str
    title: str
    description: str
    source: str
    question: str
    command: str
    selection: NotRequired[str]
    metric: NotRequired[str]
    methods: NotRequired[Sequence[str]]
    ranked: NotRequired[Sequence[Mapping[str, Any]]]
    baseline: str | None
    answer: Sequence[str]
    years: Mapping[str, int]
    titles: Mapping[str, str]
    scores: Path
    tournament: Mapping[str, Path] | None
    timings: Path | None
    browser: Path | None
    document: Path
    tables: Sequence[Mapping[str, Any]]
    figures: Sequence[Mapping[str, Any]]
    protocol: Mapping[str, str]
    folders: NotRequired[Mapping[str, Mapping[str, Path]]]
    agreement: Path | None
    claims: Path | None
    audit: Mapping[str, Path] | None
    rehearsal: bool


@dataclass(frozen=True)
class Headline:
    """A study in a few numbers.

    Attributes:
        winner, baseline: display names (the baseline's may be None).
        runs, experiments: how many runs were scored, in how many experiments.
        trained: how many of the runs are not of the baseline.
        caveats: reasons why the winner may not be the best method, one sentence each; empty if
            there are none.
        apart: whether the tournament's tests distinguish the winner from any other method.
        averaged: how many of the winner's runs its scores are averaged over.
        below_baseline: whether the baseline, which is not ranked, has a better score.
        metrics: (display name, unit, winner's score, winner's last-epoch score, baseline's score),
            means over all runs; the unit is `%` or empty; None if there is no such score.
    """

    winner: str
    baseline: str | None
    runs: int
    trained: int
    experiments: int
    averaged: int
    metrics: tuple[tuple[str, str, float, float | None, float | None], ...]
    caveats: tuple[str, ...]
    apart: bool
    below_baseline: bool


def read_tournament(study: StudyPage) -> pd.DataFrame:
    """The study's tournament, with a column `title` of display names."""
    frame = pd.read_parquet(study["tournament"]["parquet"])
    return frame.assign(title=[name(study["titles"], method) for method in frame["method"]])


def headline(study: StudyPage) -> Headline:
    """The tournament's winner next to the baseline, and how much was run."""
    everything = read_scores(study["scores"])
    scores = everything[in_rows(everything, study["ranked"])]
    board = read_tournament(study)
    winner, baseline = board["method"].iloc[0], study["baseline"]
    rule = study["selection"]
    metrics = []
    for metric in dict.fromkeys([study["metric"], *_HEADLINE_METRICS]):
        best = _mean(scores, winner, metric, rule)
        if best is not None:
            last = _mean(scores, winner, metric, "last_epoch")
            floor = _mean(scores, baseline, metric, rule)
            title, unit = name(study["titles"], metric), quantity(metric).unit
            metrics.append((title, unit, best, last, floor))
    there = baseline in set(scores["method"])
    return Headline(
        winner=name(study["titles"], winner),
        baseline=name(study["titles"], baseline) if there else None,
        runs=everything["run"].nunique(),
        trained=everything[everything["method"] != baseline]["run"].nunique(),
        experiments=int(board["experiments"].iloc[0]),
        averaged=scores[scores["method"] == winner]["run"].nunique(),
        metrics=tuple(metrics),
        caveats=tuple(_caveats(board, scores)),
        apart=_tested(board) and not _all_near(board),
        below_baseline=_is_better(study["metric"], metrics),
    )


def _is_better(metric: str, metrics: Sequence[tuple]) -> bool:
    """Whether the baseline is better than the winner by the ranked metric, the first of these."""
    _, _, best, _, floor = metrics[0] if metrics else (None,) * 5
    if best is None or floor is None:
        return False
    return floor < best if quantity(metric).better == "lower" else floor > best


def near_first(board: pd.DataFrame) -> list[str]:
    """Titles of the methods that are not shown to differ from the best."""
    near = ~board["method"].isin(board["apart_from"].iloc[0])
    return board["title"][near].tolist()[1:]


def _all_near(board: pd.DataFrame) -> bool:
    return len(near_first(board)) == len(board) - 1


def _tested(board: pd.DataFrame) -> bool:
    """Whether pairs may be compared: on other classes, or after a significant Friedman test."""
    return bool(board["unit"].iloc[0]) or bool(board["friedman_p"].iloc[0] < SIGNIFICANT)


def _caveats(board: pd.DataFrame, scores: pd.DataFrame) -> Iterator[str]:
    p_value = board["friedman_p"].iloc[0]
    if board["experiments"].iloc[0] < 2:
        yield "One experiment: another one may give another order."
    elif not _tested(board):
        test = "" if pd.isna(p_value) else f", p = {p_value:.3g}"
        yield f"No significant difference between methods (Friedman test{test})."
    elif _all_near(board) and board["unit"].iloc[0]:
        yield "No other method is shown to differ from the first on other classes."
    elif _all_near(board):
        yield "No other method differs from the first by more than the critical difference."
    if scores["seed"].nunique() == 1 and not board["unit"].iloc[0]:
        yield "One seed: another seed may change the order."


def _mean(scores: pd.DataFrame, method: str | None, metric: str, rule: str) -> float | None:
    chosen = select(scores[scores.method == method], selection=rule, metrics=[metric])["value"]
    return float(chosen.mean()) if len(chosen) else None
