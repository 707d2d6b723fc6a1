"""The picture of docs/claims.md: how many claims have which verdict, by document and data."""

from collections.abc import Sequence

import pandas as pd
from dmlbench.presentation import style
from dmlbench.statistics.claims import OURS
from dmlbench.statistics.claims import verdicts as of
from dmlbench.statistics.claims.summary import counts
from matplotlib.figure import Figure

COLORS = {
    of.SUPPORTED: "#1d7a48",
    of.EQUIVALENT: "#7aa6c2",
    of.INCONCLUSIVE: "#e8c66a",
    of.CONTRADICTED: "#7a1c10",
}
"""The verdicts that decide something, or could, from left to right; no two are as light."""

SIGNS = {
    of.SUPPORTED: "✓",
    of.CONTRADICTED: "✗",
    of.EQUIVALENT: "≈",
    of.INCONCLUSIVE: "?",
    of.NOT_PRINTED: "–",
}


@style.house()
def picture(frames: Sequence[pd.DataFrame]) -> Figure:
    """A bar for each document and kind of numbers, as long as the number of claims judged.

    Args:
        frames: one per document, as `claims.evaluated` gives it.
    """
    bars = [
        (frame["study"].iloc[0], evidence, counts(frame, evidence))
        for frame in frames
        for evidence in dict.fromkeys(frame["evidence"])
        if evidence not in ("", OURS)
    ]
    heads = [not row or bars[row - 1][0] != study for row, (study, _, _) in enumerate(bars)]
    places = [row + 0.5 * sum(heads[: row + 1]) for row in range(len(bars))]
    figure = Figure(figsize=(8, 0.25 * places[-1] + 1.1))
    axes = figure.subplots()
    for place, (_, _, shown) in zip(places, bars, strict=True):
        left = 0
        for verdict, color in COLORS.items():
            first = place == places[0]
            axes.barh(
                place,
                shown[verdict],
                left=left,
                color=color,
                label=f"{SIGNS[verdict]} {verdict}" if first else "",
            )
            if count := shown[verdict]:
                at, ink = left + count / 2, style.legible_on(color)
                words = f"{SIGNS[verdict]} {count}" if count > 3 else str(count)
                axes.text(at, place, words, ha="center", va="center", color=ink)
            left += shown[verdict]
    names = [
        f"{study}, {evidence}" if head else evidence
        for head, (study, evidence, _) in zip(heads, bars, strict=True)
    ]
    axes.set_yticks(places, names, color=style.INK)
    axes.set_ylim(places[-1] + 0.7, 0)
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x")
    axes.set_xlabel("claims")
    axes.legend(loc="lower right")
    return figure
