"""The rows of a view as rules see them, and what several rules of `plan.needs` refuse."""

from collections import Counter, defaultdict, namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from dmlbench.errors import UserError, unknown
from dmlbench.plan.printed import Number
from dmlbench.plan.rows import COORDINATES, EXPERIMENT, PLACED, Combined, Row
from dmlbench.plan.searches import Search
from dmlbench.plan.variant_parts import parts, without

FORMS = get_args(Combined)
_OF_FOLDS = {"mean", "best"}
"""Folds of a printed number that represent all folds of a split."""


@dataclass(frozen=True)
class Known:
    """What is known of a view before it is made.

    Attributes:
        rows: its rows; those of combined folds have the form as their fold.
        metrics: (row, role) -> the metrics with which it will be scored.
        options: those of the kind, defaults included.
        baseline: the method that is not trained, if the study has one.
        years: method -> year.
        printed: the printed numbers that it shows; None if it shows none.
        arrays: those of its measures.
        searches: those that it shows.
    """

    rows: Sequence[Row]
    metrics: Callable[[Row, str], set[str]]
    options: Mapping[str, Any]
    baseline: str | None
    years: Mapping[str, int]
    printed: Sequence[Number] | None
    arrays: frozenset[str]
    searches: Mapping[str, Search]

    @property
    def wanted(self) -> list[str]:
        """The metrics that the kind shows."""
        return list(self.options.get("metrics") or [self.options["metric"]])

    def scored(self, *metrics: str, role: str = "test") -> list[Row]:
        """The rows with any of these metrics."""
        return [row for row in self.rows if self.metrics(row, role) & set(metrics)]


def refuse(problem: str) -> None:
    raise UserError(problem)


def values_of(row: Row, columns: Iterable[str]) -> tuple:
    return tuple(getattr(row, column) for column in columns)


def groups(rows: Iterable, *columns: str, by: Callable | None = None) -> list[list]:
    """Rows that are equal in these columns, in their order."""
    by_values = defaultdict(list)
    for row in rows:
        by_values[(*values_of(row, columns), by and by(row))].append(row)
    return list(by_values.values())


def check_one(rows: Iterable, column: str) -> None:
    values = sorted({str(getattr(row, column)) for row in rows})
    if len(values) > 1:
        refuse(f"fits rows with several values of {column} ({', '.join(values)}); allowed: one")


def check_any(rows: Sequence, known: Known, along: str = "") -> None:
    if not rows:
        along = f" along {along}" if along else ""
        refuse(f"fits no row that is scored with {', '.join(known.wanted)}{along}")


def check_methods(rows: Iterable[Row], along: str) -> None:
    for same in groups(rows, "method"):
        for column in ("recipe", "variant", "fold"):
            stripped = {
                without(row.variant, [along]) if column == "variant" else getattr(row, column)
                for row in same
            }
            if column != along and len(stripped) > 1:
                values = ", ".join(sorted(str(value) or "base" for value in stripped))
                refuse(
                    f"fits rows of {same[0].method} with several values of {column} ({values}); "
                    "allowed: one"
                )


def check_family(known: Known, along: str) -> None:
    """Rows of one data set, network, size and split, but for what varies along a column or axis."""
    rows = known.scored(*known.wanted)
    if size := known.options.get("embedding_dim"):
        rows = [row for row in rows if row.embedding_dim == size]
    if along not in COORDINATES:
        rows = [row for row in rows if along in parts(row.variant)]
    for column in ("embedding_dim", "dataset", "network", "split"):
        if column != along:
            check_one(rows, column)
    check_any(rows, known, along if along not in COORDINATES else "")
    check_methods(rows, along)


def check_method(method: str, rows: Sequence[Row]) -> None:
    there = {row.method for row in rows}
    if method not in there:
        refuse(str(unknown("method of the rows", method, there)))


def check_printed(known: Known, *keys: str, **shown: str | int) -> None:
    """One printed number of test images per key: columns, or axes of the variants.

    Args:
        shown: column -> the value of the numbers that are shown.
    """
    places = Counter()
    for number in known.printed or ():
        values = number._asdict()
        place = [values.get(key, parts(number.variant).get(key, "")) for key in keys]
        on_axes = all(
            value != "" for key, value in zip(keys, place, strict=True) if key not in values
        )
        fits = all(values[column] == value for column, value in shown.items())
        if number.placed and number.role == "test" and on_axes and fits:
            places[tuple(place)] += 1
    for place, count in places.items():
        if count > 1:
            named = " ".join(str(value) for value in place if value)
            refuse(f"kind.printed: {count} printed numbers for {named}; allowed: one")


def check_forms(known: Known) -> list[Row]:
    rows = [row for row in known.scored(*known.wanted) if row.fold in FORMS]
    if not rows:
        refuse(f"fits no combined folds; allowed: with fold: [{', '.join(FORMS)}]")
    return rows


def check_ranks(rows: Sequence[Row], known: Known) -> None:
    check_any(rows, known)
    methods = dict.fromkeys(row.method for row in rows)
    for same in groups(rows, *EXPERIMENT):
        where = "/".join(
            str(value) for value in values_of(same[0], EXPERIMENT) if value is not None
        )
        for method in methods:
            own = [row for row in same if row.method == method]
            if not own:
                refuse(f"method {method} has no row in {where}; allowed: every method in every one")
            for column in ("recipe", "variant"):
                check_one(own, column)


def number_on_axis(known: Known, row: Row) -> float | None:
    """The row's number on the kind's axis; None if it has none."""
    axis = known.options["axis"]
    text = str(getattr(row, axis)) if axis in COORDINATES else parts(row.variant).get(axis, "")
    try:
        return float(text)
    except ValueError:
        return None


def with_numbers(known: Known, *columns: str, rest: Callable | None = None) -> list[Row]:
    """The rows with a number on the kind's axis, one per number, seed and these columns."""
    role, axis = known.options["role"], known.options["axis"]
    rows = known.scored(*known.wanted, role=role)
    rows = [row for row in rows if number_on_axis(known, row) is not None]
    if not rows:
        refuse(
            f"fits no row that is scored with {', '.join(known.wanted)} of {role} images and has a "
            f"variant {axis}=<number>"
        )

    def by(row: Row) -> tuple:
        return number_on_axis(known, row), rest and rest(row)

    for same in groups(rows, *columns, "seed", by=by):
        if len(same) > 1:
            at = f"{axis}={number_on_axis(known, same[0]):g}"
            refuse(f"method {same[0].method} has {len(same)} rows at {at}; allowed: one per seed")
    return rows


class Key(namedtuple("Key", (*PLACED, "recipe"))):
    """Where a number of ours or a printed one is in a table, next to its metric and role."""


def keys_of(rows: Sequence[Row], known: Known, role: str, *, by_recipe: bool = False) -> list[Key]:
    """The keys of rows and of the printed numbers of these metrics, numbers of folds as printed.

    Args:
        by_recipe: whether recipes are apart.
    """
    printed = known.printed or []
    twice = {number for number, count in Counter(printed).items() if count > 1}
    for number in printed:
        if number in twice:
            place = " ".join(str(value) for value in number[:-1] if value)
            refuse(f"kind.printed: two printed numbers for {place}; allowed: one")
    folds = defaultdict(set)
    for number in printed:
        if number.placed:
            folds[number.split].add(number.fold)
    keys = {row: of_row(row, folds[row.split]) for row in known.rows}
    if not by_recipe:
        for same in groups({key for row_keys in keys.values() for key in row_keys}, *PLACED):
            check_one(same, "recipe")
    ours = [key for row in rows for key in keys[row]]
    recipes = sorted({row.recipe for row in known.rows}) if by_recipe else [""]
    shown = [number for number in printed if number.role == role and number.metric in known.wanted]
    theirs = [
        Key(*number[: len(PLACED)], recipe)
        for number in shown
        for recipe in recipes
        if number.placed
    ]
    if not by_recipe:
        ours = [key._replace(recipe="") for key in ours]
    return list(dict.fromkeys([*ours, *theirs]))


def of_row(row: Row, printed: set[str]) -> list[Key]:
    """The keys of a row: that of its fold, and those of the folds together, if printed."""
    fold = "" if row.fold is None else str(row.fold)
    key = Key(*values_of(row, (*PLACED, "recipe")))._replace(fold=fold)
    together = sorted(printed & _OF_FOLDS)
    if not isinstance(row.fold, int) or not together:
        return [key]
    alone = [] if printed <= _OF_FOLDS else [key]
    return alone + [key._replace(fold=fold) for fold in together]
