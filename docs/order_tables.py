"""What losses have of their own on several networks and data sets, from published tables."""

import pandas as pd
from score_tables import markdown, published_table, signed

STUDY = "losses_three_backbones"
METRICS = {"R@1": "recall_at_1", "MAP@R": "map_at_r"}


def order_shares() -> str:
    """Shares of the variance between losses in percent, with their intervals."""
    found = published_table(STUDY, "shares")
    found = found[found["panel"] == found["panel"].iloc[0]]
    rows = {
        row["Source"]: {
            title: _interval(row, f"{metric}_share", metric, 1) for title, metric in METRICS.items()
        }
        for _, row in found.iterrows()
    }
    return markdown(rows, "share of the variance, percent")


def order_agreement() -> str:
    """How the scores of the losses in two runs correlate, with intervals over losses."""
    found = published_table(STUDY, "agreement")
    rows: dict[str, dict[str, str]] = {}
    for _, row in found.iterrows():
        cell = signed(row["pearson"], row["pearson_low"], row["pearson_high"])
        rows.setdefault(row["Two runs on"], {})[row["panel"]] = cell
    return markdown(rows, "two runs on")


def order_by_cells() -> str:
    """How well a mean over networks and data sets predicts an order elsewhere."""
    found = published_table(STUDY, "by_cells")
    rows = {
        row["Mean over"]: {
            f"{title}, {said}": _interval(row, f"{metric}_{place}", f"{metric}_{place}", 2)
            for title, metric in METRICS.items()
            for place, said in (("new", "a new cell"), ("own", "own order"))
        }
        for _, row in found.iterrows()
    }
    return markdown(rows, "mean over")


def order_means() -> str:
    """Each loss less the mean of all, and from how many others it is shown to differ."""
    found = published_table(STUDY, "means")
    rows: dict[str, dict[str, str]] = {}
    for _, row in found.iterrows():
        cells = rows.setdefault(row["Loss"], {})
        panel = row["panel"]
        cells[panel] = signed(row["value"], row["low"], row["high"])
        cells[f"{panel}, above / below"] = f"{row['above']:.0f} / {row['below']:.0f}"
    return markdown(rows)


def _interval(row: pd.Series, stem: str, ends: str, decimals: int) -> str:
    value, low, high = (
        f"{row[column]:.{decimals}f}" for column in (stem, f"{ends}_low", f"{ends}_high")
    )
    return f"{value} [{low}, {high}]"
