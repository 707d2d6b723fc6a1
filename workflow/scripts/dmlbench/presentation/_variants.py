"""Variants as tables and figures show them: parts of a product, `miner=D,beta=0.6`."""

from collections.abc import Iterable, Mapping

import pandas as pd

from dmlbench.presentation.texts import name


def parts(variant: str) -> dict[str, str]:
    """Axis -> value of a variant; a part that is only a name is its own axis."""
    pieces = [piece.partition("=") for piece in variant.split(",") if piece]
    return {axis: value if equals else axis for axis, equals, value in pieces}


def without(variant: str, axes: Iterable[str]) -> str:
    """A variant without the parts of these axes."""
    axes = set(axes)
    return ",".join(piece for piece in variant.split(",") if piece.partition("=")[0] not in axes)


def values_of(frame: pd.DataFrame, axis: str) -> pd.Series:
    """The values of a frame's column, or of an axis of its variants, by row; empty if missing."""
    if axis in frame:
        return frame[axis]
    return frame["variant"].map(lambda variant: parts(variant).get(axis, ""))


def label(titles: Mapping[str, str], variant: str) -> str:
    """A variant for a reader: `miner=D, beta=0.6`; a part may have a display name."""
    return ", ".join(titles.get(piece, piece) for piece in variant.split(",") if piece)


def labeled(titles: Mapping[str, str], method: str, variant: str) -> str:
    """A method and its variant for a reader: `Margin, miner=D, beta=0.6`."""
    return ", ".join(filter(None, [name(titles, method), label(titles, variant)]))


def shared(variants: Iterable[str]) -> list[str]:
    """The axes, or parts without one, that all variants have with the same value."""
    first, *others = map(parts, variants)
    return [axis for axis in first if all(axis in o and o[axis] == first[axis] for o in others)]


def in_order(values) -> list:
    """Distinct values: numbers ascending, everything else in its order."""
    distinct = list(dict.fromkeys(value for value in values if not pd.isna(value)))
    return sorted(distinct, key=_number) if all(map(_is_number, distinct)) else distinct


def _number(value) -> float:
    over, _, under = str(value).partition("/")
    return float(over) / float(under or 1)


def _is_number(value) -> bool:
    try:
        return _number(value) == _number(value)
    except ValueError:
        return False
