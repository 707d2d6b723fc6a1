"""Markdown tables of losses, column by column; the best number of a column is bold."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import pandas as pd
from dmlbench.plan.catalogs.read import read_mapping
from published_scores import PUBLISHED, REPOSITORY, of_splits

METHODS = read_mapping(REPOSITORY / "config" / "methods.yaml")
MEAN = "mean of these losses"
NO_LOSS = {
    MEAN: MEAN,
    "raw_features": "raw features",
    "untrained": "untrained",
}
"""What is below the losses of a table, in its words."""


class Column(NamedTuple):
    """A column: the cell of each method, and the numbers of which the best is bold, if one is."""

    cells: dict[str, str]
    numbers: pd.Series = pd.Series(dtype=float)
    lower: bool | None = False


def table(columns: Mapping[str, Column], order: Iterable[str] = (), *, years: bool = True) -> str:
    """A Markdown table of some methods: in an order, or by the numbers of its first column."""
    order = list(order) or _by_first(next(iter(columns.values())))
    best = {title: _best(column, order) for title, column in columns.items()}
    rows = {
        _title(method, years): {
            title: f"**{column.cells[method]}**"
            if method == best[title]
            else column.cells.get(method, "")
            for title, column in columns.items()
        }
        for method in order
        if any(method in column.cells for column in columns.values())
    }
    return markdown(rows)


def markdown(rows: Mapping[str, Mapping[str, str]], first: str = "loss") -> str:
    """A Markdown table of cells by row and column; `first` is what a row is."""
    titles = list(next(iter(rows.values())))
    lines = [f"| {first} | {' | '.join(titles)} |", f"|:---|{'---:|' * len(titles)}"]
    for name, cells in rows.items():
        shown = [f" {cells[title]} " if cells[title] else " " for title in titles]
        lines.append(f"| {name} |{'|'.join(shown)}|")
    return "\n".join(lines)


def numbers(values: pd.Series, decimals: int = 2, *, lower: bool | None = False) -> Column:
    """Plain numbers; with `lower` None, none of them is the best."""
    cells = {method: f"{value:.{decimals}f}" for method, value in values.dropna().items()}
    return Column(cells, values, lower)


def spread(values: pd.DataFrame, decimals: int = 2) -> Column:
    """Mean over repeats (rows) and standard deviation, where they differ."""
    means, deviations = values.mean(), values.std()
    cells = {
        method: f"{mean:.{decimals}f} ± {deviations[method]:.{decimals}f}"
        if deviations[method] > 1e-9
        else f"{mean:.{decimals}f}"
        for method, mean in means.items()
    }
    return Column(cells, means)


def with_mean(values: pd.DataFrame) -> pd.DataFrame:
    """The scores of losses (columns), and their mean."""
    return values.assign(**{MEAN: values.mean(axis=1)})


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
    titles = {method: entry["title"] for method, entry in METHODS.items()} | {MEAN: "All losses"}
    named = {method: f"{title}, {change}" if change else title for method, title in titles.items()}
    found = published_rows(study, table, panel)
    return Column({method: found[name] for method, name in named.items() if name in found})


def published_rows(study: str, table: str, panel: str = "R@1") -> dict[str, str]:
    """What each row of a published table of differences is called -> its difference."""
    rows = published_table(study, table)
    rows = rows[rows["panel"] == panel] if "panel" in rows else rows
    return {row.Loss: signed(row.difference, row.low, row.high) for row in rows.itertuples()}


def published_table(study: str, table: str) -> pd.DataFrame:
    """A published table."""
    return pd.read_csv(PUBLISHED / study / "tables" / f"{table}.csv")


def signed(mean: float, low: float, high: float) -> str:
    """A difference with its interval: `+0.32 [-0.89, 1.53]`."""
    return f"{mean:+.2f} [{low:.2f}, {high:.2f}]"


def ranked(scores: pd.DataFrame) -> list[str]:
    """The losses (columns), the best mean first, then what else there may be."""
    return _losses_first(scores.mean().sort_values(ascending=False).index)


def _by_first(column: Column) -> list[str]:
    known = column.numbers.dropna().sort_values(ascending=False).index
    return _losses_first(known if len(known) else column.cells)


def _losses_first(methods: Iterable[str]) -> list[str]:
    return [*(each for each in methods if each not in NO_LOSS), *NO_LOSS]


def _title(method: str, years: bool) -> str:
    entry = {"title": NO_LOSS[method]} if method in NO_LOSS else METHODS[method]
    return f"{entry['title']} ({entry['year']})" if years and "year" in entry else entry["title"]


def _best(column: Column, order: Sequence[str]) -> str | None:
    """The method with the best number among the losses."""
    known = column.numbers.reindex([each for each in order if each not in NO_LOSS]).dropna()
    if known.empty or column.lower is None:
        return None
    return known.idxmin() if column.lower else known.idxmax()
