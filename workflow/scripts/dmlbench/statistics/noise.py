"""A document's own noise: how far its numbers move if the same is trained again."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from dmlbench.evaluation.names import split_at_k
from dmlbench.plan.studies.mapping import When
from dmlbench.plan.studies.margins import Sources, read_sources
from dmlbench.statistics.placement import KEY, read_placed

COLUMNS = ["dataset", "metric", "noise", "rerun", "freedom", "source"]
_BY = ["dataset", "metric"]


def noise_of(folder: Path) -> pd.DataFrame:
    """The noise of a document, from its printed numbers.

    Returns:
        `COLUMNS`, one row per data set and metric of its placed numbers, in points: `noise`, the
        standard deviation of one run; `rerun`, that of a printed mean that is made again, 0 if
        unknown; `freedom`, degrees of freedom of the larger of the two; `source`, in words.
        A recall_at_k without a source takes that of the next smaller k, because it falls with k.
        Without any source, noise is missing.

    Raises:
        UserError: a file is missing or wrong.
    """
    cells = _cells(folder)
    sources = read_sources(folder).noise
    own = _own(cells, sources)
    if sources.like:
        other = folder.parent / sources.like
        borrowed = _own(_cells(other), read_sources(other).noise.model_copy(update={"twins": []}))
        source = f"{sources.like}: " + borrowed["source"]
        own = pd.concat([own, borrowed.assign(source=source)]).drop_duplicates(_BY)
    wanted = cells[_BY].drop_duplicates()
    noise = wanted.merge(own, how="left", on=_BY).sort_values(_BY)
    noise = _from_smaller_k(noise, own)[COLUMNS].reset_index(drop=True)
    noise["source"] = noise["source"].fillna("")
    return noise.astype(dict.fromkeys(["noise", "rerun", "freedom"], float))


def alike(cells: pd.DataFrame, filters: Sequence[When], by: Sequence[str]) -> list[pd.DataFrame]:
    """The cells of each filter that share its names' values and these columns, if two or more."""
    groups = []
    for filtered in filters:
        names = [filtered.match(cell_of(cell)) for cell in cells.to_dict("records")]
        kept = [index for index, matched in enumerate(names) if matched is not None]
        keys = ["/".join(map(str, names[index].values())) for index in kept]
        grouped = cells.iloc[kept].assign(names=keys).groupby([*by, "names"], sort=False)
        groups += [group for _, group in grouped if len(group) > 1]
    return groups


def cell_of(cell: dict) -> dict:
    """The columns of a placed cell that filters of printed cells look at."""
    return {
        "table": cell["table"].removeprefix("table_"),
        "method": cell["printed_method"],
        "variant": cell["printed_variant"],
        "dataset": cell["dataset"],
        "split": cell["role"],
        "metric": cell["metric"],
    }


def _cells(folder: Path) -> pd.DataFrame:
    cells = read_placed(sorted(folder.glob("table_*.csv")))
    return cells[cells["why"] == ""].drop_duplicates([*KEY, "number"])


def _own(cells: pd.DataFrame, sources: Sources) -> pd.DataFrame:
    parts = []
    if sources.deviations is not None:
        parts.append(_deviations(cells, sources.deviations))
    if sources.intervals_of is not None:
        parts.append(_intervals(cells, sources.intervals_of))
    if sources.repeats:
        parts.append(_repeats(cells, sources.repeats))
    noise = pd.concat(parts) if parts else pd.DataFrame(columns=COLUMNS)
    if not sources.twins:
        return noise
    twins = _twins(cells, sources.twins)
    noise = noise.drop(columns="rerun").merge(twins, how="left", on=_BY)
    shown = noise["rerun"] > 0
    source = noise["source"] + "; twin cells: " + noise["twins"].map("{:.0f} pairs".format)
    return noise.assign(
        rerun=noise["rerun"].fillna(0),
        freedom=noise["twins"].where(shown, noise["freedom"]),
        source=source.where(shown, noise["source"]),
    )


def _deviations(cells: pd.DataFrame, filtered: When) -> pd.DataFrame:
    """Pooled printed deviations; those of 0.00 say that there was one run."""
    fits = [filtered.match(cell_of(cell)) is not None for cell in cells.to_dict("records")]
    with_std = cells[np.array(fits) & (cells["printed_std"] > 0)]
    # From the standard error, because some print deviations over n.
    deviation = with_std["error"] * with_std["runs"] ** 0.5
    pooled = (
        with_std.assign(deviation=deviation)
        .groupby(_BY)
        .agg(noise=("deviation", _pooled), count=("deviation", "size"), runs=("runs", "first"))
    )
    return _frame(pooled, pooled["count"] * (pooled["runs"] - 1), "printed deviations")


def _intervals(cells: pd.DataFrame, runs: int) -> pd.DataFrame:
    half = cells[cells["printed_std"] > 0].groupby(_BY)["printed_std"]
    pooled = half.agg(noise=_pooled, count="size")
    pooled["noise"] *= runs**0.5 / float(stdtrit(runs - 1, 0.975))
    return _frame(pooled, pooled["count"] * (runs - 1), f"printed intervals of {runs} runs")


def _repeats(cells: pd.DataFrame, filters: Sequence[When]) -> pd.DataFrame:
    groups = alike(cells, filters, [*_BY, "method"])
    parts = pd.DataFrame(
        {
            **{column: [group[column].iloc[0] for group in groups] for column in _BY},
            "squares": [((each := group["number"]) - each.mean()).pow(2).sum() for group in groups],
            "count": [len(group) - 1 for group in groups],
        }
    )
    pooled = parts.groupby(_BY)[["squares", "count"]].sum()
    pooled["noise"] = np.sqrt(pooled["squares"] / pooled["count"])
    return _frame(pooled, pooled["count"], "one training printed under several settings")


def _twins(cells: pd.DataFrame, filters: Sequence[When]) -> pd.DataFrame:
    """Half the difference of twins, by its median: some settings were not the same after all."""
    groups = alike(cells, filters, [*_BY, "network", "method"])
    parts = pd.DataFrame(
        {
            **{column: [group[column].iloc[0] for group in groups] for column in _BY},
            "apart": [np.ptp(group["number"].drop_duplicates()) for group in groups],
        }
    )
    apart = parts.groupby(_BY)["apart"].agg(["median", "size"]).reset_index()
    rerun = apart["median"] / (2**0.5 * ndtri(0.75))
    return apart[_BY].assign(rerun=rerun, twins=apart["size"])


def _from_smaller_k(incomplete: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    known = known.set_index(_BY)
    filled = incomplete.set_index(_BY)
    for dataset, metric in filled.index[filled["noise"].isna()]:
        at_k = split_at_k(metric)
        smaller = [
            (its_k[1], other)
            for data, other in known.index
            if data == dataset
            and at_k
            and (its_k := split_at_k(other))
            and its_k[0] == at_k[0]
            and its_k[1] < at_k[1]
        ]
        if smaller:
            nearest = max(smaller)[1]
            row = known.loc[(dataset, nearest)].copy()
            row["source"] = f"{row['source']}, of {nearest}"
            filled.loc[(dataset, metric), row.index] = row
    return filled.reset_index()


def _pooled(deviations: pd.Series) -> float:
    return float(np.sqrt((deviations**2).mean()))


def _frame(pooled: pd.DataFrame, freedom: pd.Series, source: str) -> pd.DataFrame:
    kept = pooled[["noise"]].assign(rerun=0.0, freedom=freedom, source=source)
    return kept.reset_index()[COLUMNS]
