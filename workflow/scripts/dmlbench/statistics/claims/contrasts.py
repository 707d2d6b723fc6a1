"""From a claim to its comparisons: which cells are its arms, and which their controls."""

import functools
import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from string import Formatter
from typing import NamedTuple

from dmlbench.plan.studies.claims import Cell, Claim, Filter, arms, fitting
from dmlbench.plan.studies.mapping import When

Term = tuple[Cell, ...]
"""A cell, or a cell and the one that is subtracted from it."""


class Pair(NamedTuple):
    """An arm and its control.

    Attributes:
        arm, control: their terms; several are reduced as the claim says. Without a control, none.
    """

    arm: tuple[Term, ...]
    control: tuple[Term, ...]


Comparison = tuple[Pair, ...]
"""Pairs whose mean difference is judged: one, unless the claim averages over a coordinate."""


def comparisons(claim: Claim, cells: Sequence[Cell]) -> list[Comparison]:
    """The comparisons of a claim.

    Args:
        cells: all printed cells of the document.
    """
    chosen = arms(claim, cells)
    if claim.kind == "correlation":
        return [(Pair(tuple((cell,) for cell in same), ()),) for same in _alike(claim, chosen)]
    if claim.kind == "monotone":
        pairs = [Pair(((later,),), ((earlier,),)) for earlier, later in _steps(claim, chosen)]
    else:
        pairs = list(_with_controls(claim, chosen, cells))
    known = set(cells)
    if claim.less is not None:
        pairs = [
            Pair(*(tuple(_gain(claim.less, term[0], known) for term in side) for side in each))
            for each in pairs
        ]
    return _averaged(claim.over, pairs)


def called(each: Comparison, built: Sequence[Comparison], *, hidden: Sequence[str] = ()) -> str:
    """What tells a comparison from the others of its claim: `margin, sop less contrastive`.

    Args:
        hidden: coordinates that are not named, as other data have none of these.
    """
    arms = [one[0].arm[0][0] for one in built]
    varies = {name for name, *values in zip(Cell._fields, *arms, strict=True) if len({*values}) > 1}
    varies -= set(hidden)
    arm, control = each[0].arm[0][0], (each[0].control or ((None,),))[0][0]
    if control is None:
        return _told(arm, varies)
    own = {
        name for name, one, other in zip(Cell._fields, arm, control, strict=True) if one != other
    }
    return f"{_told(arm, varies | own)} less {_told(control, own)}"


def _told(cell: Cell, names: set[str]) -> str:
    values = (value for name, value in zip(Cell._fields, cell, strict=True) if name in names)
    return ", ".join(value or "none" for value in values)


def _averaged(over: Sequence[str], pairs: Sequence[Pair]) -> list[Comparison]:
    """Pairs that differ in nothing but some coordinates, together."""
    anywhere = dict.fromkeys(over, "")
    groups = defaultdict(list)
    for pair in pairs:
        key = tuple(
            frozenset(tuple(cell.with_(**anywhere) for cell in term) for term in side)
            for side in pair
        )
        groups[key if over else pair].append(pair)
    return list(map(tuple, groups.values()))


def _alike(claim: Claim, cells: Sequence[Cell]) -> list[list[Cell]]:
    """The cells that share `each`."""
    groups = defaultdict(list)
    for cell in cells:
        groups[tuple(getattr(cell, column) for column in claim.shared())].append(cell)
    return list(groups.values())


def _steps(claim: Claim, cells: Sequence[Cell]) -> Iterator[tuple[Cell, Cell]]:
    ((column, values),) = claim.along.items()
    for same in _alike(claim, cells):
        ordered = sorted(same, key=lambda cell: values.index(getattr(cell, column)))
        yield from itertools.pairwise(ordered)


def _with_controls(claim: Claim, chosen: Sequence[Cell], cells: Sequence[Cell]) -> Iterator[Pair]:
    groups = [[cell] for cell in chosen] if claim.arm_is == "each" else _alike(claim, chosen)
    controls = _Controls(claim, cells, without=set(chosen))
    for same in groups:
        arm = tuple((cell,) for cell in same)
        if claim.control is None:
            yield Pair(arm, ())
            continue
        matches = controls.of(same[0])
        if claim.control_is == "each":
            yield from (Pair(arm, ((cell,),)) for cell in matches)
        elif matches:
            yield Pair(arm, tuple((cell,) for cell in matches))


class _Controls:
    """The controls of a claim's arms."""

    def __init__(self, claim: Claim, cells: Sequence[Cell], without: set[Cell]):
        self.claim, self.cells, self.without = claim, cells, without
        self.fitting = functools.cache(self._fitting)

    def of(self, arm: Cell) -> list[Cell]:
        named = When(**self.claim.arm).match(arm._asdict()) or {}
        return self.fitting(tuple(named.items())).get(self._shared(arm), [])

    def _fitting(self, named: tuple[tuple[str, str], ...]) -> dict[tuple, list[Cell]]:
        """The cells that share their coordinates with an arm, by these."""
        filtered = self.claim.control_filter()
        if named:
            filtered = {
                column: _filled(patterns, dict(named)) for column, patterns in filtered.items()
            }
        by_coordinates = defaultdict(list)
        for cell in fitting(self.claim, filtered, self.cells):
            if cell not in self.without:
                by_coordinates[self._shared(cell)].append(cell)
        return by_coordinates

    def _shared(self, cell: Cell) -> tuple:
        return tuple(getattr(cell, column) for column in self.claim.shared())


def _filled(patterns: Sequence[str], named: Mapping[str, str]) -> list[str]:
    """The patterns with the values of names; without those that have another name."""
    return [
        pattern.format(**named)
        for pattern in patterns
        if {name for _, name, _, _ in Formatter().parse(pattern) if name} <= set(named)
    ]


def _gain(less: Filter, cell: Cell, known: set[Cell]) -> Term:
    """A cell and the first one that is printed of those to subtract."""
    others = [cell]
    for column, values in less.items():
        others = [other.with_(**{column: value}) for other in others for value in values]
    return cell, next((other for other in others if other in known), others[0])
