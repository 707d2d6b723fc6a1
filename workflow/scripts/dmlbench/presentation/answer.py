"""A study's answer to its question: sentences that are computed from its scores.

A study may name the tables that answer it (`answer`). Otherwise its tournament does, or else the
first of its tables that is of a kind with an answer.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from dmlbench.errors import unknown
from dmlbench.presentation import _variants
from dmlbench.presentation.names import name
from dmlbench.presentation.numbers import rounded
from dmlbench.presentation.study import Study, TableFiles, near_first, read_tournament
from dmlbench.statistics.aggregation import in_rows, read_scores
from dmlbench.statistics.friedman import friedman
from dmlbench.statistics.tournament import rank_by_year, ranks

SIGNIFICANT = 0.05
"""p-value below which a test finds a difference."""

_MANY = 4
"""Differences above which a sentence says the extremes instead of all."""


def answer(study: Study) -> list[str]:
    """One to three sentences with interval, test and size of the effect; none where no test speaks.

    Args:
        study: see `study.Study`; of its tables, kind and options are read where they are given.

    Raises:
        UserError: a table that is named is of a kind without an answer.
    """
    tables = {table["id"]: table for table in study["tables"]}
    named = [tables[key] for key in study.get("answer", ()) if key in tables]
    if not named and study["tournament"] is not None:
        return _of_tournament(study)
    found = named or [each for each in tables.values() if each.get("kind") in ANSWERING][:1]
    return [sentence for table in found for sentence in _of_table(table, study, alone=not named)]


def _of_tournament(study: Study) -> list[str]:
    """Whether anything is set apart, who is ahead and by how much, and what years say."""
    board = read_tournament(study)
    if len(board) < 2:
        return []
    best, metric = board.iloc[0], name(study["titles"], study["metric"])
    gain = _lead(study, board)
    lead = f", {gain} above {board['title'].iloc[1]}" if gain else ""
    seeds = _seeds(study)
    if best.experiments < 2:
        first = "" if pd.isna(best.probability_first) else f", {_share(best.probability_first)}"
        sentences = [
            f"{best.title} has the best {metric} of {len(board)} losses{lead}{first}. One "
            f"experiment says nothing about another one{seeds}."
        ]
    else:
        sentences = [_test(study, board, lead, seeds)]
    years = study.get("years", {})
    trend = rank_by_year(board, years)
    if trend is not None:
        found = "cannot be told to rank better or worse"
        if trend.p_value < SIGNIFICANT:
            found = f"rank {'better' if trend.correlation < 0 else 'worse'}"
        sentences.append(
            f"Later losses {found}: Spearman's correlation of year and mean rank is "
            f"{_signed(trend.correlation)}, p = {trend.p_value:.3g}, {trend.losses} losses "
            "(below 0: later is better)."
        )
    return sentences


def _test(study: Study, board: pd.DataFrame, lead: str, seeds: str) -> str:
    best = board.iloc[0]
    p_value, difference = best.friedman_p, best.critical_difference
    near = near_first(board)
    interval = "" if pd.isna(best.rank_low) else f" {_between(best.rank_low, best.rank_high, 1)}"
    rank = f"{best.title} has the best mean rank, {rounded(best.average_rank, 2)}{interval}{lead}"
    test = f"p = {p_value:.3g}, Kendall's W = {rounded(_concordance(study), 2)}"
    among = f"{len(board)} losses in {best.experiments} experiments"
    if not p_value < SIGNIFICANT:
        found = f" ({test})" if p_value == p_value else ""
        return (
            f"Nothing is set apart: Friedman's test finds no difference between {among}{found}. "
            f"{rank}, and may have it by chance{seeds}."
        )
    limit = f"critical difference {rounded(difference, 2)}"
    if len(near) == len(board) - 1:
        return (
            f"Friedman's test finds a difference between {among} ({test}), but sets the first "
            f"apart from none of them alone ({limit}). {rank}{seeds}."
        )
    apart = f"all but {_listed(near)}" if near else "all others"
    return f"{rank}, and is set apart from {apart} ({limit}; {among}, Friedman's {test}){seeds}."


def _concordance(study: Study) -> float:
    """Kendall's W: 1 where all experiments order the methods alike, 0 where nothing is shared."""
    table = ranks(
        _ranked(study),
        metric=study["metric"],
        methods=study["methods"],
        selection=study["selection"],
    )
    return friedman(table).chi_square / (table.shape[1] * (len(table) - 1))


def _lead(study: Study, board: pd.DataFrame) -> str:
    """By how many points of the metric the first is above the second, on average."""
    scores = _ranked(study)
    chosen = scores[(scores.metric == study["metric"]) & (scores.role == "test")]
    chosen = chosen[chosen.selection == study["selection"]]
    means = 100 * chosen.groupby("method")["value"].mean()
    gain = means[board["method"].iloc[0]] - means[board["method"].iloc[1]]
    return f"{rounded(gain, 2)} points" if gain > 0 else ""


def _seeds(study: Study) -> str:
    count = _ranked(study)["seed"].nunique()
    return "; one seed, and another one may give another order" if count == 1 else ""


def _ranked(study: Study) -> pd.DataFrame:
    scores = read_scores(study["scores"])
    return scores[in_rows(scores, study["ranked"])]


def _of_table(table: TableFiles, study: Study, *, alone: bool) -> list[str]:
    if table.get("kind") not in ANSWERING:
        raise unknown("kind of a table that answers", str(table.get("kind")), ANSWERING)
    frame = pd.read_csv(table["csv"], keep_default_na=False, dtype=str)
    sentences = ANSWERING[table["kind"]](frame, table["options"], study["titles"])
    several = not alone and len(study.get("answer", ())) > 1
    return sentences[:1] if several else sentences


def _of_differences(
    frame: pd.DataFrame, options: Mapping[str, Any], titles: Mapping[str, str]
) -> list[str]:
    """Of all losses together, where the table has them, then loss by loss."""
    metric = name(titles, options["metrics"][0])
    unit = " points" if _is_percent(options["metrics"][0]) else ""
    if "panel" not in frame:
        return _on_one_dataset(frame, "", metric, unit, options, titles)
    if len(options["metrics"]) > 1:
        frame = frame[frame["panel"].str.endswith(metric)]
    by_dataset = [
        _on_one_dataset(found, _on(panel, metric), metric, unit, options, titles)
        for panel, found in frame.groupby("panel", sort=False)
    ]
    # What is of all losses comes first, whatever the data set.
    longest = max(map(len, by_dataset))
    return [
        " ".join(said[place - longest] for said in by_dataset if len(said) >= longest - place)
        for place in range(longest)
    ]


def _on(panel: str, metric: str) -> str:
    """`On <data set>, ` where the panels of a table have data sets."""
    dataset = panel.removesuffix(metric).removesuffix(", ")
    return f"On {dataset}, " if dataset else ""


def _on_one_dataset(
    frame: pd.DataFrame,
    on: str,
    metric: str,
    unit: str,
    options: Mapping[str, Any],
    titles: Mapping[str, str],
) -> list[str]:
    losses = frame[~frame["Loss"].str.startswith("All losses")]
    together = frame[frame["Loss"].str.startswith("All losses")]
    against, tested = _reference(options, titles), "low" in frame
    sentences = []
    if len(together):
        count = losses["Loss"].str.partition(", ")[0].nunique()
        found = [(row["Loss"].removeprefix("All losses, "), row) for _, row in together.iterrows()]
        said = _differences(found, unit, tested)
        sure = "95 % interval" if tested else "one pair of trainings each"
        sentences.append(
            f"{on}{metric} changes by {said} against {against} (mean over {count} losses, {sure})."
        )
    found = [(row["Loss"], row) for _, row in losses.iterrows()]
    if not tested:
        said = _differences(found, unit, tested)
        return [
            *sentences,
            f"{on}{metric} changes by {said} against {against}, in one pair of trainings.",
        ]
    sure = losses[_numbers(losses["holm"]) < SIGNIFICANT]
    up = int((_numbers(sure["difference"]) > 0).sum())
    sentences.append(
        f"{on}{'against' if on else 'Against'} {against}, {_count(up)} of {len(losses)} {_are(up)} "
        f"above in {metric}, {_count(len(sure) - up)} below and {_count(len(losses) - len(sure))} "
        f"not set apart (p < {SIGNIFICANT:g} after Holm's correction); differences go "
        f"{_extremes(found, unit, tested)}."
    )
    return sentences


def _reference(options: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    if options.get("change"):
        return "the same without the change"
    against = options.get("against", "base")
    if against == "base":
        return "the loss alone"
    label = _variants.label(titles, against)
    return label if options.get("between") == "method" else f'"{label}"'


def _differences(found: Sequence[tuple[str, pd.Series]], unit: str, tested: bool) -> str:
    if len(found) > _MANY:
        return _extremes(found, unit, tested)
    return _listed([f"{_change(row, unit, tested)} {_with(label)}" for label, row in found])


def _with(label: str) -> str:
    return label if label.startswith("with") else f"with {label}"


def _extremes(found: Sequence[tuple[str, pd.Series]], unit: str, tested: bool) -> str:
    ordered = sorted(found, key=lambda item: float(item[1]["difference"]))
    ends = dict.fromkeys([0, len(ordered) - 1])
    said = [f"{_change(ordered[i][1], unit, tested)} ({ordered[i][0]})" for i in ends]
    return f"from {' to '.join(said)}" if len(said) > 1 else f"by {said[0]}"


def _change(row: pd.Series, unit: str, tested: bool) -> str:
    change = f"{_minus(row['difference'])}{unit}"
    return f"{change} [{_minus(row['low'])}, {_minus(row['high'])}]" if tested else change


def _of_correlations(
    frame: pd.DataFrame, options: Mapping[str, Any], titles: Mapping[str, str]
) -> list[str]:
    label = next(column for column in frame if column.startswith("With "))
    if "panel" in frame:
        frame = frame[frame["panel"] == frame["panel"].iloc[0]]
    low, high = _numbers(frame["low"]), _numbers(frame["high"])
    order = _numbers(frame["pearson"]).abs().sort_values(ascending=False).index
    sure = [index for index in order if low[index] * high[index] > 0]
    rest = [frame[label][index] for index in order if index not in sure]
    metric, points = label.removeprefix("With "), frame["points"].iloc[0]
    said = _listed([_correlation(frame.loc[index], label) for index in sure])
    found = f"{metric} goes with {said}" if sure else f"{metric} goes with nothing measured"
    unsure = f"; with {_listed(rest)} the interval has 0 in it" if rest else ""
    return [f"{found}{unsure} (Pearson's correlation over {points} points, 95 % interval)."]


def _correlation(row: pd.Series, label: str) -> str:
    interval = f"[{_minus(row['low'])}, {_minus(row['high'])}]"
    return f"{row[label]}, r = {_minus(row['pearson'])} {interval}"


def _of_spread(
    frame: pd.DataFrame, options: Mapping[str, Any], titles: Mapping[str, str]
) -> list[str]:
    metric = options["metrics"][0]
    said = [
        f"{row[metric]} points {row['Variant']}"
        + (f" on {row['panel']}" if "panel" in frame else "")
        + (f" [{row[f'{metric}_low']}, {row[f'{metric}_high']}]" if row[f"{metric}_low"] else "")
        for _, row in frame.iterrows()
    ]
    return [
        f"The losses' {name(titles, metric)} has a standard deviation of {_listed(said)} "
        "(95 % interval over seeds)."
    ]


def _of_ranks(
    frame: pd.DataFrame, options: Mapping[str, Any], titles: Mapping[str, str]
) -> list[str]:
    best = frame.iloc[0]
    interval = f" [{best['rank_low']}, {best['rank_high']}]" if "rank_low" in frame else ""
    first = f", first in {best['percent_first']} % of draws" if "percent_first" in frame else ""
    return [f"{best['Loss']} has the best mean rank, {best['average_rank']}{interval}{first}."]


ANSWERING: dict[str, Callable[[pd.DataFrame, Mapping, Mapping], list[str]]] = {
    "paired_differences": _of_differences,
    "correlations": _of_correlations,
    "method_spread": _of_spread,
    "tournament": _of_ranks,
}
"""Kinds of tables that can answer a question -> from the table's CSV to sentences."""


def _is_percent(metric: str) -> bool:
    return not re.fullmatch(r"pi_\w+|rho|displacement\w*", metric)


def _numbers(texts: pd.Series) -> pd.Series:
    return pd.to_numeric(texts, errors="coerce")


def _between(low: float, high: float, decimals: int) -> str:
    return f"[{rounded(low, decimals)}, {rounded(high, decimals)}]"


def _share(probability: float) -> str:
    return f"first in {rounded(100 * probability, 0)} % of draws of test images and seeds"


def _signed(value: float) -> str:
    return _minus(rounded(value, 2, sign="+"))


def _minus(text: object) -> str:
    """A number as text, with a sign as long as a plus."""
    return str(text).replace("-", "\N{MINUS SIGN}")


def _count(number: int) -> str:
    return str(number) if number else "none"


def _are(number: int) -> str:
    return "is" if number in (0, 1) else "are"


def _listed(parts: Sequence[str]) -> str:
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last
