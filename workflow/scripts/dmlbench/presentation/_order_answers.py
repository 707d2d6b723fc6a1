"""Answers of tables on orders of losses over networks and data sets, from their CSV."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from dmlbench.presentation.study import StudyPage
from dmlbench.presentation.texts import listed, minus, name

_OVER = "95 % intervals over losses"


def _of_shares(frame: pd.DataFrame, options: Mapping[str, Any], study: StudyPage) -> list[str]:
    """Whether the losses' own share is larger than that of their interactions."""
    metric = options["metrics"][0]
    # The rows are in the order of the sources, those of the scores as they are first.
    rows = frame[frame["panel"] == frame["panel"].iloc[0]].reset_index(drop=True)
    own, classes, rest, together = (
        _bounded(rows.iloc[place], f"{metric}_share", metric, " %") for place in (0, 4, 5, 6)
    )
    ahead = _bounded(rows.iloc[7], f"{metric}_share", metric)
    verdict = _verdict(rows.iloc[7], metric)
    answers = {
        1: "Yes, more of the losses than of networks and data sets",
        -1: "No, more of networks and data sets than of the losses",
        0: "Not shown to be more of the losses than of networks and data sets",
    }
    return [
        f"{answers[verdict]}: of the variance of {name(study['titles'], metric)} between losses, "
        f"{own} is the loss, {together} what it does with networks and data sets (difference "
        f"{ahead}), {classes} what it does with the classes drawn, and {rest} the rest ({_OVER})."
    ]


def _of_agreement(frame: pd.DataFrame, options: Mapping[str, Any], study: StudyPage) -> list[str]:
    """Whether orders that share neither network nor data set agree, and as far as noise allows."""
    metric = name(study["titles"], options["metrics"][0])
    rows = frame[frame["panel"] == metric] if "panel" in frame else frame
    elsewhere = rows.iloc[-1]
    correlation = _bounded(elsewhere, "pearson", "pearson")
    agree = "agree" if _verdict(elsewhere, "pearson") > 0 else "are not shown to agree"
    sentence = (
        f"Orders by {metric} on another network and another data set {agree}: their scores "
        f"correlate by {correlation}"
    )
    if elsewhere.get("below", ""):
        ceiling = _bounded(rows.iloc[0], "pearson", "pearson")
        lower = "less" if _verdict(elsewhere, "below") > 0 else "which is not shown to be more"
        below = _bounded(elsewhere, "below", "below")
        sentence += (
            f", those on other classes of one data set and network by {ceiling}, {lower} "
            f"(difference {below})"
        )
    return [f"{sentence} ({_OVER})."]


def _of_means_over_cells(
    frame: pd.DataFrame, options: Mapping[str, Any], study: StudyPage
) -> list[str]:
    """How well means over the fewest and the most cells predict another one."""
    metric = options["metrics"][0]
    said = [
        f"{_bounded(row, f'{metric}_new', f'{metric}_new')} over {row['Mean over']}"
        for _, row in frame.iloc[[0, -1]].iterrows()
    ]
    return [
        f"A mean order by {name(study['titles'], metric)} is expected to correlate with that on "
        f"another network and data set by {listed(said)} ({_OVER})."
    ]


def _of_order_means(frame: pd.DataFrame, options: Mapping[str, Any], study: StudyPage) -> list[str]:
    """Which losses are shown to be above or below others, whatever the network and data set."""
    metric = name(study["titles"], options["metrics"][0])
    rows = frame[frame["panel"] == metric] if "panel" in frame else frame
    apart = [
        f"{row['Loss']} {direction} {row[direction]}"
        for direction in ("above", "below")
        for _, row in rows.iterrows()
        if int(row[direction])
    ]
    shown = listed(apart) if apart else "no loss is shown to differ from any other"
    return [
        f"On other networks and data sets, by {metric} of {len(rows)} losses: {shown} (Student's "
        "t, Holm's correction for all pairs)."
    ]


ANSWERING = {
    "order_shares": _of_shares,
    "order_agreement": _of_agreement,
    "order_by_cells": _of_means_over_cells,
    "order_means": _of_order_means,
}
"""Kinds of tables -> from the table's CSV to sentences."""


def _verdict(row: pd.Series, stem: str) -> int:
    """1 or -1 if the interval is above or below 0; 0 if it has 0 in it or is unknown."""
    low, high = (float(row[f"{stem}_{end}"] or "nan") for end in ("low", "high"))
    return int(low > 0) - int(high < 0)


def _bounded(row: pd.Series, value: str, stem: str, unit: str = "") -> str:
    return minus(f"{row[value]}{unit} [{row[f'{stem}_low']}, {row[f'{stem}_high']}]")
