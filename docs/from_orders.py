"""Write what docs/findings/orders.md says of orders from published scores: `make findings`."""

import sys
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

HOME = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(HOME / "docs"), str(HOME / "workflow" / "scripts")]

from dmlbench.marked_text import write_marked  # noqa: E402
from dmlbench.plan.catalogs.read import read_mapping  # noqa: E402
from dmlbench.statistics.aggregation import read_scores  # noqa: E402
from dmlbench.statistics.generalizability import (  # noqa: E402
    CLASSES,
    NEITHER,
    NETWORK,
    Estimate,
    agreements,
    by_run,
)
from dmlbench.statistics.margins import with_margins  # noqa: E402
from dmlbench.statistics.placement import read_placed  # noqa: E402
from orders import (  # noqa: E402
    PAIR,
    expected_right,
    judged_pairs,
    mean_of_pairs,
    power,
    rank_correlation,
)

PAGE = HOME / "docs" / "findings" / "orders.md"
REFERENCE, PUBLISHED = HOME / "config" / "reference", HOME / "results" / "published"

TABLES = {
    "psomas2020": {"birds": ("06", "07", "08"), "cars": ("09", "20", "21")},
    "musgrave2020": {"birds": ("03",), "cars": ("04",)},
    "roth2020": {"birds": ("04",), "cars": ("05",)},
}
"""The tables that print R@1 of many losses on CUB-200-2011 (birds) and Cars196, each once."""

NAMES = {
    "musgrave2020": {
        "multi_similarity": "multi_similarity_without_miner",
        "multi_similarity_miner": "multi_similarity",
    }
}
"""Printed names of losses that the other papers print under another name."""

LAST = ["n_pair", "lifted_structure"]
"""The losses that are last in each of our tournaments of psomas2020."""

APART = 1.0
"""How far apart, in points of R@1, a pair must be printed to count."""

YEAR = "the year"
"""The predictor that costs nothing: that later losses are better."""

SIZE = 128
"""The embedding size of ours, at which printed cells are compared."""

CORRELATION = 0.7
"""The correlation whose power is stated."""


def text() -> str:
    """The text between the markers of the page."""
    lines = [*_correlations(tournament_orders()), "", *_predictions(), _by_map_at_r()]
    return "\n".join([*lines, _between_printed_cells()])


def tournament_orders() -> pd.DataFrame:
    """Mean rank by R@1 of psomas2020's losses (rows) in our tournaments and in print."""
    columns = {
        f"{data}, {name}": _ranks(_heads(f"psomas2020_{data}{suffix}", ["split"]))
        for name, suffix in (("frozen", ""), ("trained", "_trained"))
        for data in ("birds", "cars")
    }
    for data, tables in (("birds", ("06", "07", "08")), ("cars", ("09",))):
        cells = _printed("psomas2020", tables)
        coordinates = ["table", "panel"]
        columns[f"{data}, printed"] = _ranks(
            cells.pivot(index=coordinates, columns="method", values="number")
        )
    return pd.DataFrame(columns)


@cache
def printed(paper: str, data: str, metric: str = "recall_at_1") -> pd.DataFrame:
    """A metric of a paper's losses on one kind of data, in percent: mean over the printed cells.

    Returns:
        `number` and its standard `error`, one row per loss.
    """
    grouped = _printed(paper, TABLES[paper][data], metric).groupby("method")
    error = grouped["printed_error"].agg(lambda errors: np.sqrt((errors**2).sum()) / len(errors))
    return pd.DataFrame({"number": grouped["number"].mean(), "error": error})


def predictors(paper: str, data: str) -> Iterator[tuple[str, pd.Series]]:
    """What may predict a printed order: its name, and a measurement per loss (higher is better)."""
    yield "frozen heads", _heads(f"{paper}_{data}", []).iloc[0]
    yield "trained networks", _heads(f"psomas2020_{data}_trained", []).iloc[0]
    for other in TABLES:
        if other != paper:
            yield "another paper", printed(other, data)["number"]
    (elsewhere,) = {"birds", "cars"} - {data}
    yield "the same paper on the other data", printed(paper, elsewhere)["number"]
    methods = read_mapping(HOME / "config" / "methods.yaml").items()
    yield YEAR, pd.Series({name: entry.get("year", np.nan) for name, entry in methods})


def _printed(paper: str, tables: tuple[str, ...], metric: str = "recall_at_1") -> pd.DataFrame:
    folder = REFERENCE / paper
    cells = read_placed([folder / f"table_{table}.csv" for table in tables])
    cells = cells[(cells["metric"] == metric) & cells["fold"].isin(["", "concatenated"])]
    cells = with_margins(cells, folder)
    regularized = cells["printed_variant"].str.contains("rho_regularized")
    cells = cells[~regularized & (cells["printed_method"] != "pretrained")]
    return cells.assign(method=cells["printed_method"].replace(NAMES.get(paper, {})))


def _heads(study: str, by: list[str], metric: str = "recall_at_1") -> pd.DataFrame:
    """A metric in percent of a study's tuned losses (columns)."""
    scores = read_scores(PUBLISHED / study / "scores.parquet").query(
        "metric == @metric and role == 'test' and selection == 'last_epoch' and variant == 'tuned'"
    )
    scores = scores.assign(
        method=scores["method"].replace("multi_similarity_miner", "multi_similarity")
    )
    return 100 * scores.pivot_table("value", by or "metric", "method")


def _ranks(scores: pd.DataFrame) -> pd.Series:
    return scores.rank(axis=1, ascending=False).mean()


def _correlations(orders: pd.DataFrame) -> list[str]:
    """The correlation of each two orders, and what they show."""
    of_all = {pair: _correlation(orders, *pair) for pair in combinations(orders, 2)}
    others = orders.drop(index=LAST)
    of_others = {pair: _correlation(others, *pair) for pair in combinations(orders, 2)}
    lines = [f"| | {' | '.join(orders)} |", "|:---" + "|---:" * len(orders.columns) + "|"]
    for row in orders:
        cells = [
            _shown(of_others.get((row, column)) or of_all.get((column, row))) for column in orders
        ]
        lines.append(f"| {row} | {' | '.join(cells)} |")
    ten, eight = len(orders), len(others)
    return [
        *lines,
        "",
        f"- **Over all {ten}, {_above_zero(of_all)} of {len(of_all)} pairs of orders are shown to "
        f"agree; among the other {eight}, {_above_zero(of_others)}**: "
        f"{_listed(_names(of_others))}.",
        f"- **{eight} losses can show little.** Where normal scores correlate at {CORRELATION}, "
        f"the interval of {eight} losses excludes zero in {_power(eight)} of draws, that of {ten} "
        f"in {_power(ten)}. So an order that is not shown to carry over may still do so.",
    ]


def _power(losses: int) -> str:
    return f"{100 * power(CORRELATION, losses):.0f}%"


def _correlation(orders: pd.DataFrame, one: str, other: str) -> Estimate:
    return rank_correlation(orders[one], orders[other])


def _shown(correlation: Estimate | None) -> str:
    if correlation is None:
        return ""
    return f"{correlation.value:.2f} [{correlation.low:.2f}, {correlation.high:.2f}]"


def _above_zero(correlations: dict[tuple[str, str], Estimate]) -> int:
    return sum(each.low > 0 for each in correlations.values())


def _names(correlations: dict[tuple[str, str], Estimate]) -> list[str]:
    return [
        f"{one} with {other} ({_shown(each)})"
        for (one, other), each in correlations.items()
        if each.low > 0
    ]


def _predictions() -> list[str]:
    """Which predictor orders how many printed pairs of losses as the papers do."""
    places = [(paper, data) for paper, tables in TABLES.items() for data in tables]
    judged = pd.concat([_judged(paper, data) for paper, data in places], ignore_index=True)
    year = judged[judged["predictor"] == YEAR].set_index(PAIR)["right"]
    shares, differences = {}, {}
    for name, own in judged.groupby("predictor", sort=False):
        shares[name] = mean_of_pairs(own)
        both = own.join(year.rename("by_year"), on=PAIR, how="inner")
        differences[name] = mean_of_pairs(both.assign(less=both["right"] - both["by_year"]), "less")
    above_half = [name for name, share in shares.items() if share.low > 0.5]
    better = [name for name, less in differences.items() if less.low > 0]
    worse = [name for name, less in differences.items() if less.high < 0]
    ceiling = pd.concat([_ceiling(paper, data) for paper, data in places])
    return [
        *_shares(shares, differences, ceiling),
        "",
        *_by_place(judged),
        "",
        f"- **Shown to be right in more than half of the pairs**: {_listed(above_half)}; not "
        f"shown: {_listed(name for name in shares if name not in above_half)}.",
        f"- **Shown to be better than {YEAR}, on the same pairs**: {_listed(better)}; shown to be "
        f"worse: {_listed(worse)}.",
    ]


def _between_printed_cells() -> str:
    """How the thesis's printed scores correlate between its networks and data sets."""
    cells = pd.concat(_printed("psomas2020", tables) for tables in TABLES["psomas2020"].values())
    cells = cells.loc[cells["embedding_dim"] == SIZE, ["network", "dataset", "method", "number"]]
    table = by_run(cells.rename(columns={"number": "value"}).assign(split=""))
    networks = table.columns.get_level_values("network").nunique()
    found = agreements(table)
    return (
        f"- **The thesis's printed orders agree**: R@1 of its {len(table)} losses in {SIZE} "
        f"dimensions on {networks} networks correlates by {_shown(found[NEITHER].pearson)} on "
        f"another network and other images, by {_shown(found[NETWORK].pearson)} on the same "
        f"network, and by {_shown(found[CLASSES].pearson)} on the same images (Pearson's, mean "
        "over pairs of cells, bootstrap over losses, as in tables `order_agreement`)."
    )


def _shares(
    shares: dict[str, Estimate], differences: dict[str, Estimate], ceiling: pd.Series
) -> list[str]:
    lines = ["| predicted by | right | share | less the year, same pairs |"]
    lines += ["|:---|---:|---:|---:|"]
    for name, share in shares.items():
        right = f"{share.value * share.number:.0f} of {share.number}"
        less = "" if name == YEAR else _percent(differences[name], sign="+")
        lines.append(f"| {name} | {right} | {_percent(share)} | {less} |")
    right = f"{ceiling.sum():.0f} of {len(ceiling)}"
    return [*lines, f"| *the true order, expected* | {right} | {100 * ceiling.mean():.0f}% | |"]


def _by_map_at_r() -> str:
    """What the heads of the one paper that chooses by MAP@R predict by it."""
    paper, metric = "musgrave2020", "map_at_r"
    right = pd.concat(
        judged_pairs(
            printed(paper, data, metric)["number"],
            _heads(f"{paper}_{data}", [], metric).iloc[0],
            apart=APART,
        )["right"]
        for data in TABLES[paper]
    )
    return (
        f"- By MAP@R, which {paper} chooses by, its frozen heads are right in {right.sum():.0f} of "
        f"{len(right)} pairs more than a point apart."
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _judged(paper: str, data: str) -> pd.DataFrame:
    target, table = printed(paper, data)["number"], f"{paper}, {data}"
    return pd.concat(
        judged_pairs(target, scores, apart=APART, table=table).assign(
            predictor=name, paper=paper, data=data
        )
        for name, scores in predictors(paper, data)
    )


def _ceiling(paper: str, data: str) -> pd.Series:
    target = printed(paper, data)
    return expected_right(target["number"], target["error"], apart=APART)


def _percent(share: Estimate, *, sign: str = "") -> str:
    value, low, high = (100 * end for end in share[:3])
    return f"{value:{sign}.0f}% [{low:.0f}, {high:.0f}]"


def _by_place(judged: pd.DataFrame) -> list[str]:
    names = list(dict.fromkeys(judged["predictor"]))
    lines = [f"| printed order | {' | '.join(names)} |", "|:---" + "|---:" * len(names) + "|"]
    for (paper, data), own in judged.groupby(["paper", "data"], sort=False):
        right = own.groupby("predictor")["right"].agg(["sum", "size"]).loc[names]
        cells = [f"{row['sum']:.0f} of {row['size']:.0f}" for _, row in right.iterrows()]
        lines.append(f"| {paper}, {data} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    write_marked(PAGE, "from_orders", text())
