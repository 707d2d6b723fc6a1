"""Markdown tables of losses, column by column; the best number of a column is bold."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from dmlbench.plan.catalogs.read import read_mapping
from published_scores import PUBLISHED, of_splits

METHODS = read_mapping(Path(__file__).resolve().parents[1] / "config" / "methods.yaml")
UNTRAINED = {
    "raw_features": "raw features, 1280 dimensions",
    "untrained": "a random projection to 128",
}
"""What has no loss, in the words of a table."""

MEAN = "mean of the four"


class Column(NamedTuple):
    """A column: the cell of each method, and the numbers of which the best is bold, if one is."""

    cells: dict[str, str]
    numbers: pd.Series = pd.Series(dtype=float)
    lower: bool = False


def table(
    columns: Mapping[str, Column],
    order: Iterable[str],
    *,
    years: bool = True,
    names: Mapping[str, str] = UNTRAINED,
) -> str:
    """A Markdown table of some methods, in their order."""
    order = list(order)
    lines = [f"| loss | {' | '.join(columns)} |", f"|:---|{'---:|' * len(columns)}"]
    best = {title: _best(column, order) for title, column in columns.items()}
    for method in order:
        cells = [column.cells.get(method, "") for column in columns.values()]
        cells = [
            f"**{cell}**" if method == best[title] else cell
            for title, cell in zip(columns, cells, strict=True)
        ]
        cells = [f" {cell} " if cell else " " for cell in [_title(method, years, names), *cells]]
        lines.append(f"|{'|'.join(cells)}|")
    return "\n".join(lines)


def numbers(values: pd.Series, decimals: int = 2, *, lower: bool | None = False) -> Column:
    """Plain numbers; with `lower` None, none of them is the best."""
    cells = {method: f"{value:.{decimals}f}" for method, value in values.dropna().items()}
    return Column(cells) if lower is None else Column(cells, values, lower)


def spread(values: pd.DataFrame) -> Column:
    """Mean over repeats (rows) and standard deviation, where they differ."""
    means, deviations = values.mean(), values.std()
    cells = {
        method: f"{mean:.2f} ± {deviations[method]:.2f}"
        if deviations[method] > 1e-9
        else f"{mean:.2f}"
        for method, mean in means.items()
    }
    return Column(cells, means)


def differences(first: pd.DataFrame, second: pd.DataFrame, arms: pd.DataFrame | None) -> Column:
    """Mean differences of losses over splits, with their intervals for other classes.

    Args:
        arms: the scores among which the arms of a difference are (`published_scores.of_splits`).
    """
    return Column({each: signed(*of_splits(first[each] - second[each], arms)) for each in first})


def over(scores: pd.DataFrame, reference: str) -> Column:
    """Mean differences of losses from one of them over splits, with their intervals."""
    others = scores.drop(columns=reference)
    alike = pd.concat(dict.fromkeys(others, scores[reference]), axis=1)
    return differences(others, alike, scores)


def published(study: str, table: str, change: str = "", panel: str = "R@1") -> Column:
    """Differences of losses with their intervals, as a published table has them.

    Args:
        change: what tells a loss from its reference, as the table says it.
    """
    rows = pd.read_csv(PUBLISHED / study / "tables" / f"{table}.csv").query("panel == @panel")
    titles = {method: entry["title"] for method, entry in METHODS.items()} | {MEAN: "All losses"}
    found = {row.Loss: signed(row.difference, row.low, row.high) for row in rows.itertuples()}
    named = {method: f"{title}, {change}" if change else title for method, title in titles.items()}
    return Column({method: found[name] for method, name in named.items() if name in found})


def signed(mean: float, low: float, high: float) -> str:
    """A difference with its interval: `+0.32 [-0.89, 1.53]`."""
    return f"{mean:+.2f} [{low:.2f}, {high:.2f}]"


def ranked(scores: pd.DataFrame) -> Iterable[str]:
    """The losses (columns), the best mean first."""
    return scores.mean().sort_values(ascending=False).index


def _title(method: str, years: bool, names: Mapping[str, str]) -> str:
    if own := names.get(method):
        return own
    entry = METHODS.get(method, {"title": method})
    return f"{entry['title']} ({entry['year']})" if years and "year" in entry else entry["title"]


def _best(column: Column, order: Sequence[str]) -> str | None:
    """The method with the best number among the losses."""
    known = column.numbers.reindex([each for each in order if each not in UNTRAINED]).dropna()
    if known.empty:
        return None
    return known.idxmin() if column.lower else known.idxmax()
