"""Selecting scores from the long table, shared by tables and figures."""

from collections.abc import Sequence

import pandas as pd

from dmlbench.errors import UserError
from dmlbench.presentation import _variants
from dmlbench.statistics.summary import check_one, select, summarize


def pick(
    scores: pd.DataFrame,
    *,
    methods: Sequence[str],
    metrics: Sequence[str],
    selection: str,
    role: str = "test",
    along: str = "embedding_dim",
) -> pd.DataFrame:
    """Scores of one experiment family in the units of their metrics, seeds summarized.

    Args:
        scores: the long table of scores.
        methods, metrics: what to keep.
        selection: the selection rule to keep.
        role: the scored images to keep, `test` or `validation`.
        along: what may have several values: `embedding_dim`, another column, or an axis of the
            variants (`lambda`); only its scores are kept.

    Returns:
        Frame with method, `along`, metric, and the columns of `summarize`.

    Raises:
        UserError: nothing is left, a column that must have one value has several, or a method has
            several recipes, variants or folds.
    """
    kept = select(scores, selection=selection, role=role, metrics=metrics)
    kept = kept[kept.method.isin(list(methods))]
    if along not in kept:
        there = {along: _variants.values_of(kept, along)}
        kept = kept.assign(**there, variant=[_variants.without(v, (along,)) for v in kept.variant])
        kept = kept[kept[along] != ""]
    alike = ("embedding_dim", "dataset", "network", "split")
    check_one(kept, (column for column in alike if column != along), "the scores have")
    if kept.empty:
        raise UserError(
            f"no scores of {', '.join(metrics)} at {selection}; the scores have "
            f"{_listed(scores.metric)} at {_listed(scores.selection)} for "
            f"{_listed(scores.dataset)}, {_listed(scores.network)}"
        )
    for method, rows in kept.groupby("method"):
        own = (column for column in ("recipe", "variant", "fold") if column != along)
        check_one(rows, own, f"method {method} has")
    return summarize(kept, ["method", along, "metric"])


def printed_values(printed: pd.DataFrame | None, *keys: str, **where: object) -> dict[tuple, float]:
    """Printed test scores, as printed, by columns of their places or axes of their variants.

    Empty if nothing is printed.

    Args:
        where: column -> the value to keep.

    Raises:
        UserError: two printed numbers for one key.
    """
    if printed is None:
        return {}
    tested = printed[(printed.role == "test") & (printed.why == "")]
    for column, value in where.items():
        tested = tested[tested[column] == value]
    axes = {key: _variants.values_of(tested, key) for key in keys if key not in tested}
    tested = tested.assign(**axes)
    for axis in axes:
        tested = tested[tested[axis] != ""]
    for row in tested[tested.duplicated(list(keys))].itertuples():
        key = " ".join(str(getattr(row, column)) for column in keys)
        raise UserError(f"two printed numbers for {key}; allowed: one, so name fewer tables")
    return dict(zip(zip(*(tested[key] for key in keys), strict=True), tested.number, strict=True))


def placed_values(printed: pd.DataFrame | None) -> pd.DataFrame | None:
    """The printed numbers that have a place among ours, as `value`; None if nothing is printed."""
    return None if printed is None else printed[printed.why == ""].assign(value=printed.number)


def present(picked: pd.DataFrame, methods: Sequence[str]) -> list[str]:
    """The methods that have scores, in the given order."""
    there = set(picked.method)
    return [method for method in methods if method in there]


def _listed(values: pd.Series) -> str:
    return "/".join(sorted(map(str, values.unique())))
