"""What a line on the terminal says about a run: its title, what it learned, how far it is."""

import contextlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from dmlbench.errors import UserError
from dmlbench.evaluation.names import quantity
from dmlbench.parquet import read_table
from dmlbench.plan import paths
from dmlbench.plan.catalogs.rows import COORDINATES, Row
from dmlbench.plan.specs.plan import Plan
from dmlbench.presentation.texts import name, rounded

_NO_SCORES = {"epoch", "learning_rate", "loss", "zero_losses"}
"""Columns of a history besides the watched scores."""

_TAIL = 500
"""Bytes at the end of a log in which its last bar of progress is."""


def titles_of_rows(plan: Plan, rows: Sequence[Row]) -> list[str]:
    """`ProxyAnchor, seed 1`: the loss, and what else differs between the rows."""
    varied = [
        column
        for column in COORDINATES
        if column != "method" and len({getattr(row, column) for row in rows}) > 1
    ]
    return [
        ", ".join([plan.methods[row.method].title, *filter(None, (_said(row, c) for c in varied))])
        for row in rows
    ]


def _said(row: Row, column: str) -> str:
    value = getattr(row, column)
    if value in (None, ""):
        return ""
    words = {"seed": "seed {}", "fold": "fold {}", "embedding_dim": "{}-D"}
    return words.get(column, "{}").format(value)


def learned(results: Path, run: str) -> str:
    """`loss 0.312, R@1 84.2 %`: the last epoch of a run; empty without a history.

    A damaged history is an error of the jobs that need it, not of a line on the terminal.
    """
    file, last = results / paths.made("train", "history", run=run), {}
    with contextlib.suppress(UserError, OSError):
        history = read_table(file)
        last = history.slice(history.num_rows - 1).to_pylist()[0] if history.num_rows else {}
    watched = watched_score(last)
    parts = [f"loss {last['loss']:.3g}"] if _known(last.get("loss")) else []
    if watched and _known(last[watched]):
        percent = quantity(watched).percent
        value = rounded(100 * last[watched], 1) + " %" if percent else f"{last[watched]:.3g}"
        parts.append(f"{name({}, watched)} {value}")
    return ", ".join(parts)


def watched_score(columns: Iterable[str]) -> str | None:
    """The column of a history's watched score, the first of its kind; None if none was watched."""
    return next((column for column in columns if column not in _NO_SCORES), None)


def _known(value: float | None) -> bool:
    return value is not None and value == value


def share(results: Path, run: str) -> str:
    """`45 %`: how much of a running training is done, by its log; empty if it does not say."""
    log = results / paths.log("train").format(run=run)
    try:
        with open(log, "rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL))
            percents = re.findall(rb"(\d+)%\|", file.read())
    except FileNotFoundError:
        return ""
    return f"{percents[-1].decode()} %" if percents else ""
