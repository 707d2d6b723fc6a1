"""Cells of tables that are empty, and why they may be."""

import pandas as pd

_BY_NOISE = ("low", "high", "margin", "nearest", "seeds_needed")
"""Columns of the verdicts that need the noise of a number."""


def check_cells(file):
    """No cell of a table is empty without a reason."""
    cells = pd.read_csv(file, dtype=str, keep_default_na=False)
    assert len(cells), file
    assert not (cells == "nan").any(axis=None), file
    for row in cells.to_dict("records"):
        missing = {column for column in row if row[column] in ("", "not run")}
        wrong = {column for column in missing if not is_explained(file, row, column)}
        assert not wrong, (file, row, wrong)


def is_explained(file, row, column):
    """Whether a number cannot exist: a spread of one, a difference from an unprinted number."""
    stem, _, last = column.rpartition("_")
    loss, printed, verdict = (row.get(key) for key in ("Loss", f"{stem}_printed", "verdict"))
    if row[column] == "not run":
        # A number that no paper prints has no such cells.
        return row.get(f"{column.removesuffix('_last_epoch')}_printed") == "not printed"
    if verdict == "cited":
        return column not in ("printed", "value")
    if verdict:
        return {
            # An experiment has no split, and mostly no network.
            "network": row["split"] == "",
            "split": row["split"] == "",
            # Numbers whose noise nobody knows have no margin.
            **dict.fromkeys(_BY_NOISE, row.get("margin") == ""),
        }.get(column, column in ("panel", "variant", "fold") or last == "std")
    return (
        # Toy trainings may have equal differences in all pairs, for which no test is defined.
        (column in ("p", "holm") and row["low"] == row["high"])
        # Holm's correction is of single losses.
        or (column == "holm" and loss.startswith("All losses"))
        # A recall of toy draws may be equal in all of them, and then has no deviation.
        or (file.stem.endswith("_deviations") and column.startswith("recall_at_"))
        # A printed derivative that is right differs nowhere.
        or (column == "largest_difference" and row.get("printed_is_right") == "right")
        # A number that only we have.
        or (column == "printed" and "Number" in row)
        # Others are tested against the seeds' variance, and toy seeds share one training.
        or (row.get("Source") == "seed" and last == "p")
        or (
            "Source" in row
            and last == "p"
            and row.get(f"{stem}_low") == row.get(f"{stem}_high") != ""
        )
        # A share of printed variance has no interval.
        or (last in ("low", "high") and row.get("panel", "").endswith(", printed"))
        or last == "std"
        or (last in ("difference", "inside") and (printed == "not printed" or row[stem] == "cited"))
    )
