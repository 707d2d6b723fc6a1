"""A study as shown to readers, and its headline numbers."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

import pandas as pd

from dmlbench.errors import UserError
from dmlbench.evaluation.names import quantity
from dmlbench.presentation._sentences import SIGNIFICANT
from dmlbench.presentation.names import name
from dmlbench.statistics.aggregation import in_rows, read_scores
from dmlbench.statistics.summary import select

Path = str | os.PathLike

_HEADLINE_METRICS = ("recall_at_1", "r_precision", "map_at_r")


class TableFiles(TypedDict):
    """One table of a study and its four files, as `table.write` writes them.

    `kind` and `options`: how it was built.
    """

    id: str
    title: str
    caption: str
    csv: Path
    md: Path
    tex: Path
    html: Path
    kind: str
    options: Mapping[str, Any]


class FigureFiles(TypedDict):
    """One figure of a study and its three files, as `style.save` writes them."""

    id: str
    title: str
    caption: str
    png: Path
    svg: Path
    pdf: Path


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
        tables, figures: in the order of reading.
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
    tables: Sequence[TableFiles]
    figures: Sequence[FigureFiles]
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


def read_tournament(study: StudyPage) -> pd.DataFrame:
    """The study's tournament, with a column `title` of display names.

    Raises:
        UserError: the file has no row.
    """
    file = study["tournament"]["parquet"]
    frame = pd.read_parquet(file)
    if frame.empty:
        raise UserError(f"{file}: a tournament without methods; allowed: at least 1")
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
        apart=bool(board["friedman_p"].iloc[0] < SIGNIFICANT) and not _all_near(board),
    )


def near_first(board: pd.DataFrame) -> list[str]:
    """Titles of the methods whose mean rank is less than the critical difference from the best."""
    best = board.iloc[0]
    near = board["average_rank"] - best["average_rank"] < best["critical_difference"]
    return board["title"][near].tolist()[1:]


def _all_near(board: pd.DataFrame) -> bool:
    return len(near_first(board)) == len(board) - 1


def _caveats(board: pd.DataFrame, scores: pd.DataFrame) -> Iterator[str]:
    p_value = board["friedman_p"].iloc[0]
    if board["experiments"].iloc[0] < 2:
        yield "One experiment: another one may give another order."
    elif not p_value < SIGNIFICANT:
        test = "" if pd.isna(p_value) else f", p = {p_value:.3g}"
        yield f"No significant difference between methods (Friedman test{test})."
    elif _all_near(board):
        yield "No other method differs from the first by more than the critical difference."
    if scores["seed"].nunique() == 1:
        yield "One seed: another seed may change the order."


def _mean(scores: pd.DataFrame, method: str | None, metric: str, rule: str) -> float | None:
    chosen = select(scores[scores.method == method], selection=rule, metrics=[metric])["value"]
    return float(chosen.mean()) if len(chosen) else None
