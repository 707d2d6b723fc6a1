"""A study's answer to its question: sentences computed from its scores.

A study may name the tables that answer it (`answer`). Otherwise its tournament does, or the first
of its tables whose kind has an answer.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from dmlbench.errors import unknown
from dmlbench.evaluation.names import quantity
from dmlbench.plan.catalogs.rows import EXPERIMENT
from dmlbench.presentation._table_answers import ANSWERING
from dmlbench.presentation.study import StudyPage, near_first, read_tournament
from dmlbench.presentation.texts import SIGNIFICANT, listed, minus, name, points, rounded
from dmlbench.statistics.aggregation import in_rows, read_scores
from dmlbench.statistics.summary import select, summarize
from dmlbench.statistics.tournament import rank_by_year


def answer(study: StudyPage) -> list[str]:
    """One to three sentences with interval, test and size of the effect; none without a test.

    Args:
        study: see `study.StudyPage` for the keys.

    Raises:
        UserError: a named table is of a kind without an answer.
    """
    tables = {table["id"]: table for table in study["tables"]}
    named = [tables[key] for key in study["answer"] if key in tables]
    if not named and study["tournament"] is not None:
        return _of_tournament(study)
    answering = named or [each for each in tables.values() if each["kind"] in ANSWERING][:1]
    return [
        sentence for table in answering for sentence in _of_table(table, study, alone=not named)
    ]


def _of_tournament(study: StudyPage) -> list[str]:
    """Whether anything differs significantly, which loss leads, by how much, trend by year."""
    board = read_tournament(study)
    if len(board) < 2:
        return []
    best, metric = board.iloc[0], name(study["titles"], study["metric"])
    gain = _lead(study, board)
    lead = f", {gain} {board['title'].iloc[1]}" if gain else ""
    seeds = _seeds(study)
    if best.experiments < 2:
        first = ""
        if not pd.isna(best.probability_first):
            drawn = "test images" if seeds else "test images and seeds"
            first = f", first in {rounded(100 * best.probability_first, 0)} % of draws of {drawn}"
        sentences = [
            f"{best.title} has the best {metric} of {len(board)} losses{lead}{first}. This is one "
            f"experiment{seeds}."
        ]
    else:
        sentences = [_test(board, lead, seeds)]
    trend = rank_by_year(board, study["years"])
    if trend is not None:
        ranks = "no significantly better or worse ranks"
        missed = f"; weaker ones than {rounded(trend.detectable, 2)} may be missed"
        if trend.p_value < SIGNIFICANT:
            ranks = f"significantly {'better' if trend.correlation < 0 else 'worse'} ranks"
            missed = ""
        sentences.append(
            f"Later losses have {ranks}: Spearman's correlation of year and mean rank is "
            f"{minus(rounded(trend.correlation, 2, sign='+'))}, p = {trend.p_value:.3g}, "
            f"{trend.losses} losses "
            f"(below 0: later is better{missed})."
        )
    return sentences


def _test(board: pd.DataFrame, lead: str, seeds: str) -> str:
    best = board.iloc[0]
    p_value, difference = best.friedman_p, best.critical_difference
    near = near_first(board)
    apart = f"all but {listed(near)}" if near else "all others"
    none_apart = len(near) == len(board) - 1
    interval = ""
    if not pd.isna(best.rank_low):
        interval = f" [{rounded(best.rank_low, 1)}, {rounded(best.rank_high, 1)}]"
    rank = f"{best.title} has the best mean rank, {rounded(best.average_rank, 2)}{interval}{lead}"
    test = f"p = {p_value:.3g}, Kendall's W = {rounded(best.concordance, 2)}"
    among = f"{len(board)} losses in {best.experiments} experiments"
    if best.unit:
        shown = f"it is shown to differ from {apart} on other classes"
        if none_apart:
            shown = "on other classes no loss is shown to differ from it"
        return f"{rank} in {best.experiments} splits of the classes: {shown}."
    if not p_value < SIGNIFICANT:
        statistic = f": {test}" if p_value == p_value else ""
        needed = f"; mean ranks {rounded(difference, 2)} apart would be"
        needed = "" if pd.isna(difference) else needed
        return (
            f"No significant difference between {among} (Friedman test{statistic}{needed}). "
            f"{rank}, which may be due to chance{seeds}."
        )
    limit = f"critical difference {rounded(difference, 2)}"
    if none_apart:
        return (
            f"The Friedman test finds significant differences between {among} ({test}), but the "
            f"first does not differ significantly from any single loss ({limit}). {rank}{seeds}."
        )
    return (
        f"{rank}, and differs significantly from {apart} ({limit}; {among}, Friedman test: "
        f"{test}){seeds}."
    )


def _lead(study: StudyPage, board: pd.DataFrame) -> str:
    """How far the first is ahead of the second, mean over experiments: `1.20 points above`."""
    metric = study["metric"]
    chosen = select(_ranked(study), selection=study["selection"], metrics=[metric])
    # Seeds first, as for the ranks: an experiment with more of them counts once.
    cells = summarize(chosen, [*EXPERIMENT, "method"])
    means = cells.groupby("method")["mean"].mean()
    gain = means[board["method"].iloc[0]] - means[board["method"].iloc[1]]
    gain, where = (-gain, "below") if quantity(metric).better == "lower" else (gain, "above")
    return f"{rounded(gain, 2)}{points(metric)} {where}" if gain > 0 else ""


def _seeds(study: StudyPage) -> str:
    ranked = _ranked(study)
    count = ranked["seed"].nunique() * ranked["split"].nunique()
    return "; with one seed only, another seed may change the order" if count == 1 else ""


def _ranked(study: StudyPage) -> pd.DataFrame:
    scores = read_scores(study["scores"])
    return scores[in_rows(scores, study["ranked"])]


def _of_table(table: Mapping[str, Any], study: StudyPage, *, alone: bool) -> list[str]:
    if table["kind"] not in ANSWERING:
        raise unknown("kind of a table that answers", table["kind"], ANSWERING)
    frame = pd.read_csv(table["csv"], keep_default_na=False, dtype=str)
    sentences = ANSWERING[table["kind"]](frame, table["options"], study)
    several = not alone and len(study["answer"]) > 1
    return sentences[:1] if several else sentences
