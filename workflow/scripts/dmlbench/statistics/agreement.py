"""A verdict for every printed number: was it reproduced?"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dmlbench.evaluation.names import quantity
from dmlbench.files import atomic_write
from dmlbench.plan.mapping import read_mapping
from dmlbench.plan.rows import EXPERIMENT
from dmlbench.statistics.aggregation import ROW, collect, no_scores, row_of
from dmlbench.statistics.audit.check import CERTAIN, place
from dmlbench.statistics.comparison import BOTH, CITED, NOISE, OURS_ALONE, compare
from dmlbench.statistics.placement import KEY, read_placed

REPRODUCED = "reproduced"
DIFFERS = "differs"
NOT_RUN = "not run"
CANNOT_BE = "cannot be"
VERDICTS = (REPRODUCED, DIFFERS, NOT_RUN, CANNOT_BE, CITED)
"""Verdicts on a printed number, in the order of tables."""

NEAR = 1.0
"""How far a printed number may be from one run of ours in percent; of others, a hundredth."""

INTERVAL = "interval"
DISTANCE = "distance"

RULE = (
    "A printed number is reproduced if it lies where 95 % of numbers fall that come from the "
    "distribution of our runs, so one in twenty of those differs by chance; where we have one run, "
    f"if it is within {NEAR:g} of ours. A number cannot be if arithmetic alone contradicts it "
    "(`snakemake audit`)."
)

COLUMNS = ["study", "table", "panel", *KEY, "printed", "ours", "ours_std", "seeds", "difference"]
COLUMNS += ["low", "high", "rule", "verdict"]

_NOT_NUMBERS = ("claims", "facts", "bold")
"""Rules of the audit that are about text and typography, not about a printed number."""

_ALIKE = ["table", "panel", *EXPERIMENT, "role", "metric"]
"""The columns that scores of one order of methods share."""


def agreement(
    rows: Sequence[Mapping[str, Any]],
    score_files: Sequence[str | os.PathLike],
    *,
    tables: Sequence[str | os.PathLike],
    printed: Sequence[str | os.PathLike],
    findings: str | os.PathLike,
    output: str | os.PathLike,
    note: str = "",
) -> None:
    """Write the verdicts on the printed numbers of one document as CSV.

    Args:
        rows, score_files, tables: as `aggregation.collect` takes them, empty if nothing ran; a
            row's `selection` is the rule of its printed numbers.
        printed: the transcriptions of the document's tables, `mapping.yaml` next to them.
        findings: the audit of the document.
        output: the file to write, with `COLUMNS` and `note`.
        note: a remark on our numbers in every row, such as that they are rehearsed.

    Raises:
        UserError: as `aggregation.collect`, `comparison.compare` and `placement.read_placed`.
    """
    scores = collect(rows, score_files, tables=tables) if score_files or tables else no_scores()
    recipe = read_mapping(Path(printed[0]).parent).recipe
    if recipe:
        scores = scores[scores["recipe"].isin([recipe, ""])]
    found = verdicts(
        _selected(scores, rows),
        read_placed(printed),
        pd.read_csv(findings, dtype=str, keep_default_na=False),
    )
    with atomic_write(output) as unfinished:
        found.assign(note=note).to_csv(unfinished, index=False, float_format="%.6g")


def verdicts(scores: pd.DataFrame, placed: pd.DataFrame, findings: pd.DataFrame) -> pd.DataFrame:
    """A verdict for every printed number, by `RULE`.

    Args:
        scores: the long table of scores (fractions), one for each row, role and metric.
        placed: as `statistics.placement.place` gives it.
        findings: the checks of the audit, with the columns of `audit.COLUMNS`.

    Returns:
        One row per printed number, in their order, with `COLUMNS`: the place, `printed` and `ours`
        (in the unit of the metric), `rule`, `INTERVAL` or `DISTANCE`, by which the two were
        compared (empty if ours is missing), and `verdict`, one of `VERDICTS`.
    """
    impossible = _impossible(placed, findings)
    parts = []
    # A table that repeats numbers of another one has the same places.
    for _, cells in placed.groupby("table", sort=False):
        compared = compare(scores, cells)
        compared = compared[compared["status"] != OURS_ALONE]
        parts.append(cells[["study", "table", "panel", *KEY]].merge(compared, on=KEY, how="left"))
    found = pd.concat(parts, ignore_index=True)
    ran = found["status"] == BOTH
    near = found["difference"].abs() <= NEAR * _points(found["metric"]) + NOISE
    tested = found["inside"].notna()
    inside = found["inside"].astype("boolean").fillna(False).astype(bool)
    found["rule"] = np.select([ran & tested, ran], [INTERVAL, DISTANCE], "")
    found["verdict"] = np.select(
        [found["status"] == CITED, impossible, ~ran, np.where(tested, inside, near)],
        [CITED, CANNOT_BE, NOT_RUN, REPRODUCED],
        DIFFERS,
    )
    return found[COLUMNS]


def summary(found: pd.DataFrame) -> dict[str, Any]:
    """How far the numbers of one document were reproduced.

    Args:
        found: as `verdicts` gives it.

    Returns:
        `printed`, how many numbers there are, without cited ones; how many have each verdict, by
        its name; `compared`, how many have a number of ours; `mean_difference`, the mean absolute
        difference; `rank_correlation`, Spearman's between printed and our order of methods,
        averaged over the `orders` with at least three methods that have both. Unknown values are
        None.
    """
    counts = {verdict: int((found["verdict"] == verdict).sum()) for verdict in VERDICTS}
    compared = found.dropna(subset=["difference"])
    orders = [
        rows["ours"].rank().corr(rows["printed"].rank())
        for _, rows in compared.groupby(_ALIKE, dropna=False)
        if rows["method"].nunique() > 2
    ]
    orders = [order for order in orders if not np.isnan(order)]
    return counts | {
        "printed": len(found) - counts[CITED],
        "compared": len(compared),
        "mean_difference": float(compared["difference"].abs().mean()) if len(compared) else None,
        "rank_correlation": float(np.mean(orders)) if orders else None,
        "orders": len(orders),
    }


def agreement_of_all(
    files: Iterable[str | os.PathLike], csv: str | os.PathLike, md: str | os.PathLike
) -> None:
    """Write the verdicts of several documents in one CSV file, and their summary in Markdown."""
    frames = [pd.read_csv(file, dtype={"table": str}, keep_default_na=True) for file in files]
    with atomic_write(csv) as unfinished:
        pd.concat(frames, ignore_index=True).to_csv(unfinished, index=False)
    lines = ["# Printed numbers and ours", "", RULE, ""]
    lines += ["| document | printed | reproduced | differ | not run | cannot be | cited |"]
    lines[-1] += " mean difference | rank correlation |"
    lines += ["|:--" + "|--:" * 8 + "|"]
    for frame in frames:
        counts = summary(frame)
        cells = [f"{counts[key]:,}" for key in ("printed", *VERDICTS)]
        cells += [_shown(counts[key]) for key in ("mean_difference", "rank_correlation")]
        lines.append(f"| {frame['study'].iloc[0]} | {' | '.join(cells)} |")
    with atomic_write(md) as unfinished:
        unfinished.write_text("\n".join([*lines, ""]), encoding="utf-8")


def _selected(scores: pd.DataFrame, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """The scores under each row's own selection rule, and those without a selected epoch."""
    rules = {(*row_of(row), row["selection"]) for row in rows}
    own = pd.MultiIndex.from_frame(scores[[*ROW, "selection"]]).isin(rules) if rules else False
    return scores[own | (scores["selection"] == "none")].assign(selection="own")


def _points(metrics: pd.Series) -> pd.Series:
    """The hundredth of the largest share in the unit of each metric."""
    return metrics.map(lambda metric: quantity(metric).factor / 100)


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _impossible(placed: pd.DataFrame, findings: pd.DataFrame) -> np.ndarray:
    """Which printed numbers arithmetic alone contradicts."""
    certain = findings[(findings["sure"] == CERTAIN) & ~findings["rule"].isin(_NOT_NUMBERS)]
    tables = [
        place(table.removeprefix("table_"), panel)
        for table, panel in zip(placed["table"], placed["panel"], strict=True)
    ]
    found = np.zeros(len(placed), dtype=bool)
    for finding in certain.itertuples():
        found |= _about(finding, placed, pd.Series(tables, index=placed.index)).to_numpy()
    return found


def _about(finding, placed: pd.DataFrame, tables: pd.Series) -> pd.Series:
    """The printed numbers of a finding, which may name several at once."""
    about = tables == finding.table
    if finding.dataset:
        about &= placed["dataset"] == finding.dataset
    if not re.fullmatch(r"\d+ methods", finding.method):
        about &= placed["printed_method"] == finding.method
        about &= placed["printed_variant"] == finding.variant
    several = re.fullmatch(r"R@([\d/]+)", finding.metric)
    if several:
        return about & placed["k"].isin([float(k) for k in several[1].split("/")])
    return about & placed["metric"].isin(finding.metric.split(", "))
