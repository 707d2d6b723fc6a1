"""A document's own noise and margins, from its printed numbers: config/reference/*/margins.csv.

    python benchmarks/margins.py config/reference/psomas2020

The noise is how far its numbers move if the same is trained again.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

from dmlbench.evaluation.names import split_at_k  # noqa: E402
from dmlbench.files import atomic_write  # noqa: E402
from dmlbench.plan.studies.mapping import When  # noqa: E402
from dmlbench.plan.studies.margins import Sources, read_sources  # noqa: E402
from dmlbench.statistics.equivalence import ALPHA  # noqa: E402
from dmlbench.statistics.margins import COLUMN, COLUMNS, FILE, cell_of  # noqa: E402
from dmlbench.statistics.placement import KEY, read_placed  # noqa: E402

NOISE = ["dataset", "metric", "noise", "rerun", "freedom", "source"]
SEEDS = 5
"""How many runs of ours show that a true number is the same, by the margin that noise allows."""

MATTERS = 0.2
"""The smallest difference that matters, in standard deviations between the numbers of a column.

Source: J. Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988: a small effect.
"""
_BY = ["dataset", "metric"]


def margins_of(folder: Path) -> pd.DataFrame:
    """The margins of a document, from its printed numbers and margins.yaml.

    Returns:
        `COLUMNS`, one row per column, in the unit of the metric: how many `numbers` it has and
        their standard deviation, `spread`; the `noise` of one run, the standard `error` of a
        printed number, and their degrees of `freedom`; `margin`, the larger of a fifth of the
        spread and of what five runs need to show with 90 % probability that a true number is the
        same. Unknown values are missing.

    Raises:
        UserError: as `noise_of`.
    """
    cells = read_placed(sorted(folder.glob("table_*.csv")))
    cells = cells[cells["why"] == ""].drop_duplicates(KEY)
    grouped = cells.groupby(COLUMN, sort=True)
    margins = grouped.agg(
        numbers=("number", "size"), spread=("number", "std"), runs=("runs", "median")
    ).reset_index()
    margins = margins.merge(noise_of(folder), how="left", on=["dataset", "metric"])
    runs = margins["runs"].replace(np.inf, read_sources(folder).noise.intervals_of or 1)
    margins["error"] = np.maximum(margins["noise"] / runs**0.5, margins["rerun"])
    total = np.sqrt(margins["noise"] ** 2 / SEEDS + margins["error"] ** 2)
    # One tail for the test, one for a true number to pass it in nine of ten cases.
    quantile = 2 * stdtrit(margins["freedom"].astype(float), 1 - ALPHA)
    margins["margin"] = np.fmax(quantile * total, MATTERS * margins["spread"])
    return margins[COLUMNS]


def write_margins(folder: str | os.PathLike) -> None:
    """Write the margins of a folder of printed numbers next to them."""
    folder = Path(folder)
    with atomic_write(folder / FILE) as unfinished:
        margins_of(folder).to_csv(unfinished, index=False, float_format="%.4g")


def noise_of(folder: Path) -> pd.DataFrame:
    """The noise of a document, from its printed numbers.

    Returns:
        `NOISE`, one row per data set and metric of its placed numbers, in points: `noise`, the
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
    noise = _from_smaller_k(noise, own)[NOISE].reset_index(drop=True)
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
    noise = pd.concat(parts) if parts else pd.DataFrame(columns=NOISE)
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
    return kept.reset_index()[NOISE]


if __name__ == "__main__":
    for each in sys.argv[1:]:
        write_margins(each)
