"""The verdicts on the printed numbers of one document, and of all of them."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dmlbench.files import write_csv, write_text
from dmlbench.plan.catalogs.rows import EXPERIMENT
from dmlbench.plan.studies.mapping import read_mapping
from dmlbench.statistics.aggregation import ROW, collect, row_of
from dmlbench.statistics.comparison import CITED
from dmlbench.statistics.margins import with_margins
from dmlbench.statistics.placement import KEY, read_placed
from dmlbench.statistics.printed_verdicts import RULE, VERDICTS, verdicts

_ALIKE = ["table", "panel", *EXPERIMENT, "role", "metric"]
"""The columns that scores of one order of methods share."""
_PLACE = [column for column in KEY if column != "fold"]
"""Where a printed number has its selection rule, that of all folds."""


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
        printed: the transcriptions of the document's tables, `mapping.yaml`, `margins.yaml` and
            `margins.csv` next to them.
        findings: the audit of the document.
        output: the file to write, with `verdicts.COLUMNS` and `note`.
        note: a remark on our numbers in every row, such as that they are rehearsed.

    Raises:
        UserError: as `aggregation.collect`, `comparison.compare` and `placement.read_placed`.
    """
    folder = Path(printed[0]).parent
    scores = collect(rows, score_files, tables=tables)
    recipe = read_mapping(folder).recipe
    if recipe:
        scores = scores[scores["recipe"].isin([recipe, ""])]
    placed = with_margins(read_placed(printed), folder)
    judged = verdicts(
        selected(scores, rows, placed),
        placed,
        pd.read_csv(findings, dtype=str, keep_default_na=False),
    )
    write_csv(output, judged.assign(note=note), float_format="%.6g")


def summary(judged: pd.DataFrame) -> dict[str, Any]:
    """How far the numbers of one document were reproduced.

    Args:
        judged: as `verdicts` gives it.

    Returns:
        `printed`, how many numbers there are, without cited ones; how many have each verdict, by
        its name; `compared`, how many have a number of ours; `mean_difference`, the mean absolute
        difference; `rank_correlation`, Spearman's between printed and our order of methods,
        averaged over the `orders` with at least three methods that have both. Unknown values are
        None.
    """
    counts = {verdict: int((judged["verdict"] == verdict).sum()) for verdict in VERDICTS}
    compared = judged.dropna(subset=["difference"])
    orders = [
        rows["ours"].rank().corr(rows["printed"].rank())
        for _, rows in compared.groupby(_ALIKE, dropna=False)
        if rows["method"].nunique() > 2
    ]
    orders = [order for order in orders if not np.isnan(order)]
    return counts | {
        "printed": len(judged) - counts[CITED],
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
    write_csv(csv, pd.concat(frames, ignore_index=True))
    lines = ["# Printed numbers and ours", "", RULE, ""]
    lines += [f"| document | printed | {' | '.join(VERDICTS)} | mean difference |"]
    lines[-1] += " rank correlation |"
    lines += ["|:--" + "|--:" * (len(VERDICTS) + 3) + "|"]
    for frame in frames:
        counts = summary(frame)
        cells = [f"{counts[key]:,}" for key in ("printed", *VERDICTS)]
        cells += [_shown(counts[key]) for key in ("mean_difference", "rank_correlation")]
        lines.append(f"| {frame['study'].iloc[0]} | {' | '.join(cells)} |")
    write_text(md, "\n".join([*lines, ""]))


def counted(csv: str | os.PathLike, md: str | os.PathLike) -> list[str]:
    """Lines for a terminal: how many numbers of each document have which verdict, and the files."""
    numbers = pd.read_csv(csv, usecols=["study", "verdict"])
    lines = []
    for study, cells in numbers.groupby("study", sort=False):
        counts = cells["verdict"].value_counts()
        shown = [f"{counts[verdict]:,} {verdict}" for verdict in VERDICTS if verdict in counts]
        lines.append(f"{study}: {len(cells):,} printed numbers: {', '.join(shown)}")
    return [*lines, f"{md}: the counts; {csv}: every number with its verdict"]


def selected(
    scores: pd.DataFrame, rows: Sequence[Mapping[str, Any]], placed: pd.DataFrame | None = None
) -> pd.DataFrame:
    """The scores under the rules of the printed numbers: mostly each row's own selection rule.

    Args:
        scores: the long table of scores.
        rows: as `agreement` takes them.
        placed: as `placement.place` gives it; where a number in it has a selection rule, scores of
            its place under other rules are left out, and those under this one kept. None for each
            row's own rule everywhere.

    Returns:
        One score for each row, role and metric at most; those without an epoch are kept.
    """
    rules = {(*row_of(row), row["selection"]) for row in rows}
    own = pd.MultiIndex.from_frame(scores[[*ROW, "selection"]]).isin(rules) if rules else False
    own = own | (scores["selection"] == "none")
    if placed is None:
        return scores[own]
    asked = placed.loc[(placed["why"] == "") & (placed["selection"] != ""), [*_PLACE, "selection"]]
    asked = asked.drop_duplicates().astype({"embedding_dim": "int64"})
    joined = scores[_PLACE].merge(asked, how="left", on=_PLACE, validate="many_to_one")
    rule = joined["selection"].set_axis(scores.index)
    return scores[(own & rule.isna()) | (scores["selection"] == rule)]


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
