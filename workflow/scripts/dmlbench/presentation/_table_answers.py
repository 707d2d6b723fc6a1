"""A table's answer to a study's question, as sentences from its CSV."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from dmlbench.presentation import _order_answers, _variants
from dmlbench.presentation.study import StudyPage
from dmlbench.presentation.texts import SIGNIFICANT, listed, minus, name, points
from dmlbench.statistics.aggregation import read_scores
from dmlbench.statistics.equivalence import MOST_RUNS, POWER
from dmlbench.statistics.paired import pairs_needed

_MANY = 4
"""Number of differences above which a sentence gives the extremes instead of all."""
_RAW = "raw_features"
"""The method of config/methods.yaml that scores a network's features as they are."""


def _of_differences(frame: pd.DataFrame, options: Mapping[str, Any], study: StudyPage) -> list[str]:
    """Sentences on all losses together, if the table has them, then on single losses."""
    metric = name(study["titles"], options["metrics"][0])
    unit = points(options["metrics"][0])
    if "panel" not in frame:
        return _on_one_dataset(frame, "", metric, unit, options, study)
    if len(options["metrics"]) > 1:
        frame = frame[frame["panel"].str.endswith(metric)]
    by_dataset = [
        _on_one_dataset(rows, _on(panel, metric), metric, unit, options, study)
        for panel, rows in frame.groupby("panel", sort=False)
    ]
    # Rows of all losses come first, whatever the data set.
    longest = max(map(len, by_dataset))
    return [
        " ".join(said[place - longest] for said in by_dataset if len(said) >= longest - place)
        for place in range(longest)
    ]


def _on(panel: str, metric: str) -> str:
    """`On <data set>, ` if the panels of a table are data sets."""
    dataset = panel.removesuffix(metric).removesuffix(", ")
    return f"On {dataset}, " if dataset else ""


def _on_one_dataset(
    frame: pd.DataFrame,
    on: str,
    metric: str,
    unit: str,
    options: Mapping[str, Any],
    study: StudyPage,
) -> list[str]:
    losses = frame[~frame["Loss"].str.startswith("All losses")]
    together = frame[frame["Loss"].str.startswith("All losses")]
    against, tested = _reference(options, study["titles"]), "low" in frame
    sentences = []
    if len(together):
        count = losses["Loss"].str.partition(", ")[0].nunique()
        combined = [
            (row["Loss"].removeprefix("All losses, "), row) for _, row in together.iterrows()
        ]
        said = _differences(combined, unit, tested)
        sure = "95 % interval" if tested else "one pair of trainings each"
        sentences.append(
            f"{on}{metric} changes by {said}, compared with {against} (mean over {count} losses, "
            f"{sure})."
        )
    by_loss = [(row["Loss"], row) for _, row in losses.iterrows()]
    if options.get("between") == "method" and options["against"] == _RAW:
        trained = [study["titles"][each] for each in study.get("methods", ())]
        learn = [item for item in by_loss if item[0].partition(", ")[0] in trained]
        return _added_by_training(
            learn or by_loss, on, metric, unit, _seeds_of_features(study) if tested else 1
        )
    if not tested:
        said = _differences(by_loss, unit, tested)
        return [
            *sentences,
            f"{on}{metric} changes by {said}, compared with {against}, in one pair of trainings.",
        ]
    sure = losses[_numbers(losses["holm"]) < SIGNIFICANT]
    up = int((_numbers(sure["difference"]) > 0).sum())
    sentences.append(
        f"{on}{'compared' if on else 'Compared'} with {against}, {_count(up)} of {len(losses)} "
        f"{_are(up)} significantly higher in {metric}, {_count(len(sure) - up)} significantly "
        f"lower and {_count(len(losses) - len(sure))} not significantly different "
        f"(p < {SIGNIFICANT:g} after Holm's correction"
        f"{_possible(losses.drop(sure.index), unit)}); {_range(by_loss, unit)}."
    )
    return sentences


def _added_by_training(
    by_loss: Sequence[tuple[str, pd.Series]], on: str, metric: str, unit: str, seeds: int
) -> list[str]:
    """What the best loss adds to the features of its network, and which losses are below them."""
    ordered = sorted(by_loss, key=lambda item: -float(item[1]["difference"]))
    best, row = ordered[0]
    tested = seeds > 1
    sure = f"95 % interval over {seeds} seeds" if tested else "one seed, so no interval"
    among = f"{best}, the best of {len(by_loss)} losses" if len(by_loss) > 1 else best
    below = [
        f"{label} ({_change(each, unit, tested)})"
        for label, each in ordered
        if float(each["difference"]) < 0
    ]
    decided = _would_decide(row, seeds) if tested else ""
    changes = f"adds {_change(row, unit, tested)} of {metric} over"
    if float(row["difference"]) < 0:
        changes = f"loses {_loss(row, unit, tested)} of {metric} against"
    return [
        f"{on}{'training' if on else 'Training'} {changes} the network's own features ({among}; "
        f"{sure}).{decided} Below the features: {listed(below) if below else 'no loss'}."
    ]


def _would_decide(row: pd.Series, seeds: int) -> str:
    """How many seeds would tell a difference like this one from 0, if these do not."""
    difference, low, high = (float(row[column]) for column in ("difference", "low", "high"))
    if low * high > 0:
        return ""
    needed = pairs_needed(difference, (high - low) / 2, seeds)
    count = f"about {needed:,} seeds" if needed else f"not even {MOST_RUNS:,} seeds"
    return (
        f" The interval includes 0: if the difference is as large as it looks, {count} would show "
        f"it with a probability of {POWER:.0%}."
    )


def _seeds_of_features(study: StudyPage) -> int:
    scores = read_scores(study["scores"])
    return scores.loc[scores["method"] == _RAW, "seed"].nunique()


def _possible(unsure: pd.DataFrame, unit: str) -> str:
    """How large the differences may be that were not found."""
    bounds = [str(text).lstrip("+-") for text in [*unsure["low"], *unsure["high"]] if str(text)]
    if not bounds:
        return ""
    return f"; differences of up to {max(bounds, key=float)}{unit} remain possible"


def _reference(options: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    if options.get("change"):
        return "the same without the change"
    against = options.get("against", "base")
    if against == "base":
        return "the loss alone"
    label = _variants.label(titles, against)
    return label if options.get("between") == "method" else f'"{label}"'


def _differences(differences: Sequence[tuple[str, pd.Series]], unit: str, tested: bool) -> str:
    if len(differences) > _MANY:
        return _extremes(differences, unit, tested)
    return listed([f"{_change(row, unit, tested)} {_with(label)}" for label, row in differences])


def _with(label: str) -> str:
    return label if label.startswith("with") else f"with {label}"


def _extremes(differences: Sequence[tuple[str, pd.Series]], unit: str, tested: bool) -> str:
    ordered = sorted(differences, key=lambda item: float(item[1]["difference"]))
    ends = dict.fromkeys([0, len(ordered) - 1])
    said = [f"{_change(ordered[i][1], unit, tested)} ({ordered[i][0]})" for i in ends]
    return f"from {' to '.join(said)}" if len(said) > 1 else said[0]


def _range(differences: Sequence[tuple[str, pd.Series]], unit: str) -> str:
    said = _extremes(differences, unit, tested=True)
    return f"differences range {said}" if len(differences) > 1 else f"the difference is {said}"


def _change(row: pd.Series, unit: str, tested: bool) -> str:
    change = f"{minus(row['difference'])}{unit}"
    return f"{change} [{minus(row['low'])}, {minus(row['high'])}]" if tested else change


def _loss(row: pd.Series, unit: str, tested: bool) -> str:
    """A change below 0 as what is lost, with the interval of this."""
    lost = {key: _negated(row[key]) for key in ("difference", "low", "high") if key in row}
    turned = pd.Series(lost | {"low": lost.get("high"), "high": lost.get("low")})
    return _change(turned, unit, tested)


def _negated(number: str) -> str:
    """A printed number with the other sign; a plus is left out."""
    return number.removeprefix("-") if number.startswith("-") else f"-{number.removeprefix('+')}"


def _of_correlations(
    frame: pd.DataFrame, options: Mapping[str, Any], study: StudyPage
) -> list[str]:
    """One sentence for each data set, together one answer."""
    if "panel" not in frame:
        return [_on_one_cloud(frame, "")]
    by_dataset = frame.groupby("panel", sort=False)
    return [" ".join(_on_one_cloud(rows, _on(panel, "")) for panel, rows in by_dataset)]


def _on_one_cloud(frame: pd.DataFrame, on: str) -> str:
    label = next(column for column in frame if column.startswith("With "))
    low, high = _numbers(frame["low"]), _numbers(frame["high"])
    order = _numbers(frame["pearson"]).abs().sort_values(ascending=False).index
    sure = [index for index in order if low[index] * high[index] > 0]
    rest = [
        f"{frame[label][index]} {_bounds(frame.loc[index])}" for index in order if index not in sure
    ]
    metric, count = label.removeprefix("With "), frame["points"].iloc[0]
    verdict = "does not correlate significantly"
    if sure:
        said = listed([_correlation(frame.loc[index], label) for index in sure])
        verdict = f"correlates with {said}"
    unsure = f"; with {listed(rest)} the interval includes 0" if rest else ""
    return (
        f"{on}{metric} {verdict}{unsure} "
        f"(Pearson's correlation over {count} points, 95 % interval)."
    )


def _correlation(row: pd.Series, label: str) -> str:
    return f"{row[label]}, r = {minus(row['pearson'])} {_bounds(row)}"


def _bounds(row: pd.Series) -> str:
    return f"[{minus(row['low'])}, {minus(row['high'])}]"


def _of_spread(frame: pd.DataFrame, options: Mapping[str, Any], study: StudyPage) -> list[str]:
    metric = options["metrics"][0]
    said = [
        f"{row[metric]}{points(metric)} {row['Variant']}"
        + (f" on {row['panel']}" if "panel" in frame else "")
        + _interval(row, metric)
        for _, row in frame.iterrows()
    ]
    titles = study["titles"]
    known = bool(frame.get(f"{metric}_low", pd.Series("")).ne("").any())
    sure = "95 % interval over seeds" if known else "one seed"
    return [
        f"The losses' {name(titles, metric)} has a standard deviation of {listed(said)} ({sure})."
    ]


def _of_shares(frame: pd.DataFrame, options: Mapping[str, Any], study: StudyPage) -> list[str]:
    metric = options["metrics"][0]
    titles, sentences = study["titles"], []
    for panel, rows in frame.groupby("panel", sort=False) if "panel" in frame else [("", frame)]:
        # The numbers of levels follow the names, in brackets.
        sources = rows["Source"].str.partition(" (")
        said = [
            f"{row[f'{metric}_share']} %{_interval(row, metric)} is explained by the {source}"
            for (_, row), source in zip(rows.iterrows(), sources[0], strict=True)
        ]
        losses = sources[2].iloc[0].removesuffix(")")
        of = f"of {losses} losses" + (f" on {panel}" if panel else "")
        sentences.append(f"of the variance of {name(titles, metric)} {of}, {listed(said)}")
    sure = " (95 % intervals over seeds)" if f"{metric}_low" in frame else ""
    sentence = "; ".join(sentences)
    return [f"{sentence[0].upper()}{sentence[1:]}{sure}."]


def _interval(row: pd.Series, stem: str) -> str:
    low, high = row.get(f"{stem}_low"), row.get(f"{stem}_high")
    return f" [{low}, {high}]" if low else ""


def _of_ranks(frame: pd.DataFrame, options: Mapping[str, Any], study: StudyPage) -> list[str]:
    best = frame.iloc[0]
    interval = f" [{best['rank_low']}, {best['rank_high']}]" if "rank_low" in frame else ""
    first = f", first in {best['percent_first']} % of draws" if "percent_first" in frame else ""
    return [f"{best['Loss']} has the best mean rank, {best['average_rank']}{interval}{first}."]


ANSWERING: dict[str, Callable[[pd.DataFrame, Mapping, StudyPage], list[str]]] = {
    "paired_differences": _of_differences,
    "correlations": _of_correlations,
    "method_spread": _of_spread,
    "variance_shares": _of_shares,
    "tournament": _of_ranks,
    **_order_answers.ANSWERING,
}
"""Kinds of tables that can answer a question -> from the table's CSV to sentences."""


def _numbers(texts: pd.Series) -> pd.Series:
    return pd.to_numeric(texts, errors="coerce")


def _count(number: int) -> str:
    return str(number) if number else "none"


def _are(number: int) -> str:
    return "is" if number in (0, 1) else "are"
