"""The printed numbers of psomas2020, checked by arithmetic."""

import os

import pandas as pd

from dmlbench.files import whole
from dmlbench.statistics.printed import (
    EQUAL,
    as_scores,
    display_table,
    falling_recalls,
    read_printed,
    unattainable_recalls,
    verdict,
)
from dmlbench.statistics.tournament import tournament

COLUMNS = ["study", "check", "table", "item", "quantity", "printed", "recomputed", "verdict"]

CHECKS = {
    "tournament": "Table 11 recomputed from R@1 in tables 6, 7 and 8",
    "folds": "Table 12's mean and deviation of MultiSimilarity recomputed from table 13",
    "repeated": "Tables 17, 18 and 19 repeat panel c of tables 7, 9 and 10",
    "recall_rises": "R@k must not fall with k",
    "whole_images": "R@k must be a whole number of test images",
}
"""Name of each check -> what it checks."""

TEST_IMAGES = {"cub200": 5924, "cars196": 8131, "sop": 60502}
"""Images in the second half of each data set's classes."""

_GRIDS = ["06", "07", "08", "09", "10", "20", "21"]
_RANKS = {
    "tournament_total_rank": "total_rank",
    "tournament_average_rank": "average_rank",
    "tournament_rank_std": "rank_std",
}
_REPEATS = {"17": ("07", "c"), "18": ("09", "c"), "19": ("10", "c")}


def audit(
    reference: str | os.PathLike, output_csv: str | os.PathLike, output_md: str | os.PathLike
) -> None:
    """Check the printed tables of psomas2020 and write every cell's verdict and a summary.

    Args:
        reference: the folder with its `table_*.csv`.
        output_csv: every checked cell, with the columns of `audit_frame`.
        output_md: per check what was compared, how many cells agree, and those that do not.

    Raises:
        UserError: a printed table is missing.
    """
    frame = audit_frame(reference)
    with whole(output_csv) as unfinished:
        frame.to_csv(unfinished, index=False, lineterminator="\n")
    with whole(output_md) as unfinished:
        unfinished.write_text(_summary(frame), encoding="utf-8")


def audit_frame(reference: str | os.PathLike) -> pd.DataFrame:
    """Every check of `CHECKS` as one frame of strings, one row per checked cell.

    Returns:
        study, check, table (with its panel), item (a method), quantity, printed, recomputed,
        and verdict: `equal` within the printed rounding, else how it deviates.
    """
    grids = read_printed(reference, [*_GRIDS, *_REPEATS])
    parts = {
        "tournament": check_tournament(reference),
        "folds": _check_folds(reference),
        "repeated": _check_repeated(reference),
        "recall_rises": falling_recalls(grids),
        "whole_images": unattainable_recalls(grids, TEST_IMAGES),
    }
    frame = pd.concat([part.assign(check=check) for check, part in parts.items()])
    frame["table"] = [display_table(table) for table in frame["table"]]
    return frame.assign(study="psomas2020")[COLUMNS].reset_index(drop=True)


def check_tournament(reference: str | os.PathLike) -> pd.DataFrame:
    """Printed total, mean and n-1 deviation of each loss's ranks beside their recomputation."""
    printed = read_printed(reference, ["11"])
    recomputed = tournament(
        as_scores(read_printed(reference, ["06", "07", "08"])),
        metric="recall_at_1",
        methods=list(printed["method"].unique()),
        selection="best_test_epoch",
    ).set_index("method")
    rows = []
    for metric, cells in printed.groupby("metric", sort=False):
        # The table drops trailing zeros, so a column's precision is that of its longest cell.
        digits = int(cells["decimals"].max())
        for cell in cells.itertuples():
            value = recomputed.loc[cell.method, _RANKS[metric]]
            rows.append(_row("11", cell.method, _RANKS[metric], cell, value, digits))
    return pd.DataFrame(rows)


def _check_folds(reference: str | os.PathLike) -> pd.DataFrame:
    printed = read_printed(reference, ["12"])
    cell = next(printed[printed["method"] == "multi_similarity"].itertuples())
    folds = read_printed(reference, ["13"])
    test = folds[folds["split"] == "test"]["number"]
    deviation = cell._replace(value=cell.std, number=float(cell.std))
    return pd.DataFrame(
        [
            _row("12", cell.method, "mean over folds", cell, test.mean(), cell.decimals),
            _row("12", cell.method, "std over folds", deviation, test.std(ddof=1), cell.decimals),
        ]
    )


def _check_repeated(reference: str | os.PathLike) -> pd.DataFrame:
    rows = []
    for table, (source, panel) in _REPEATS.items():
        original = read_printed(reference, [source])
        original = original[original["panel"] == panel].set_index(["method", "metric"])["number"]
        for cell in read_printed(reference, [table]).itertuples():
            if (cell.method, cell.metric) in original.index:
                value = original[cell.method, cell.metric]
                quantity = f"R@{cell.k:.0f}"
                rows.append(_row(table, cell.method, quantity, cell, value, cell.decimals))
    return pd.DataFrame(rows)


def _row(table: str, item: str, quantity: str, cell, recomputed: float, decimals: int) -> dict:
    return {
        "table": table,
        "item": item,
        "quantity": quantity,
        "printed": cell.value,
        "recomputed": f"{recomputed:.{decimals + 2 if decimals else 0}f}",
        "verdict": verdict(cell.number, recomputed, decimals),
    }


def _summary(frame: pd.DataFrame) -> str:
    lines = ["# Printed numbers of psomas2020, checked", ""]
    for check, description in CHECKS.items():
        cells = frame[frame["check"] == check]
        wrong = cells[cells["verdict"] != EQUAL]
        lines += [f"## {description}", ""]
        lines += [
            f"{len(cells)} checked, {len(cells) - len(wrong)} agree, {len(wrong)} do not.",
            "",
        ]
        if len(wrong):
            lines += ["| table | method | quantity | printed | recomputed | verdict |"]
            lines += ["|:--|:--|:--|--:|--:|:--|"]
            lines += [
                f"| {row.table} | {row.item} | {row.quantity} | {row.printed} "
                f"| {row.recomputed} | {row.verdict} |"
                for row in wrong.itertuples()
            ]
            lines += [""]
    return "\n".join(lines)
