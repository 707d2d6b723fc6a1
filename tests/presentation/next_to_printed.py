"""Printed numbers, our scores made from them, and tables of both."""

from pathlib import Path

import pandas as pd
from dmlbench.statistics.placement import read_placed
from dmlbench.statistics.printed import as_scores
from kinds import build

REFERENCE = Path(__file__).parents[2] / "config" / "reference" / "psomas2020"
SELECTION = "best_test_epoch"


def printed(*tables, study="psomas2020", **where):
    folder = REFERENCE.parent / study
    frame = read_placed(folder / f"table_{table}.csv" for table in tables)
    for column, value in where.items():
        frame = frame[frame[column] == value]
    return frame.reset_index(drop=True)


def ours(frame, *, add=(0.0,), lower=0.01):
    """The printed numbers as our scores, one seed per addend; the last epoch is lower."""
    seeds = [as_scores(frame).assign(seed=seed) for seed in range(len(add))]
    best = pd.concat(
        [scores.assign(value=scores.value + gain) for scores, gain in zip(seeds, add, strict=True)]
    )
    last = best.assign(selection="last_epoch", value=best.value - lower)
    return pd.concat([best, last], ignore_index=True)


def table(kind, frame, scores, methods=None, selection=SELECTION, titles=None, **options):
    methods = methods or list(dict.fromkeys(frame.method))
    view = build("tables", kind, selection=selection, methods=methods, **options)
    return view(scores, titles or {})


def row(shown, label, panel=""):
    (found,) = (
        dict(zip((column.name for column in shown.columns), texts, strict=True))
        for row, texts in zip(shown.rows, shown.texts(), strict=True)
        if row.label == label and row.panel.endswith(panel)
    )
    return {name: text for name, (text, _) in found.items()}


def placed_scores(frame, shift=0.01, selection=SELECTION):
    """Our scores at the places of printed numbers."""
    there = frame[frame.why == ""]
    columns = ["dataset", "network", "embedding_dim", "method", "variant", "split", "fold"]
    scores = there[[*columns, "role", "metric"]].astype({"embedding_dim": "int64"})
    more = {"selection": selection, "recipe": "r", "seed": 0, "run": "-"}
    return scores.assign(value=there.number / 100 + shift, **more)
