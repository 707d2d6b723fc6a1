"""What kinds of tables and figures need of their rows, checked before a row is trained.

A kind names its rule as the constant NEEDS of its file. A rule refuses rows of which the kind could
not make a table or a figure once they are scored; it knows the rows, and the metrics of each.
"""

import itertools
from collections import Counter, defaultdict, namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from dmlbench.errors import UserError, unknown
from dmlbench.plan.printed import Number
from dmlbench.plan.rows import COORDINATES, EXPERIMENT, PLACED, Combined, Row, all_but
from dmlbench.plan.searches import Search

FORMS = get_args(Combined)
_OF_FOLDS = {"mean", "best"}
"""Folds of a printed number that represent all folds of a split."""
_FEWEST_POINTS = 3
"""Points that a correlation needs."""


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


def check_needs(rule: str, known: Known) -> None:
    """Raise a UserError unless the rows are what a rule needs."""
    RULES[rule](known)


def one_family(known: Known) -> None:
    """One data set, network and split; per method one recipe, variant and fold."""
    along = known.options.get("axis", "embedding_dim")
    _check_family(known, along)
    if size := known.options.get("embedding_dim"):
        _check_printed(known, "method", "metric", embedding_dim=size)
    else:
        _check_printed(known, "metric", "method", along)


def one_family_of_networks(known: Known) -> None:
    """As `one_family`, with any networks and one embedding size."""
    _check_family(known, "network")
    shown = {"metric": known.options["metric"], "embedding_dim": known.rows[0].embedding_dim}
    _check_printed(known, "network", "method", **shown)


def numbers_of_an_axis(known: Known) -> None:
    """Rows with numbers of an axis, one per method, number and seed, and each listed number."""
    rows = _with_numbers(known, "method")
    there = {_number(known, row) for row in rows}
    for value in known.options["values"]:
        if value not in there:
            _refuse(f"no row has {known.options['axis']}={value:g}")


def lines_along_an_axis(known: Known) -> None:
    """Rows with numbers of an axis, one per data set, method, rest of the variant and seed."""
    axes = [known.options["axis"], *(known.options["change"] or ())]
    _with_numbers(known, "dataset", "method", rest=lambda row: without(row.variant, axes))


def points(known: Known) -> None:
    """Per data set, three points of which each has both metrics: a method and a variant."""
    options = known.options
    x_role, y_role = options["x_role"], options["y_role"]
    for same, x in itertools.product(_groups(known.rows, "dataset"), options["x"]):
        sides = [
            [row for row in same if metric in known.metrics(row, role)]
            for metric, role in ((x, x_role), (options["y"], y_role))
        ]
        found = []
        for side in sides:
            for point in _groups(side, "method", "variant"):
                for column in all_but("dataset", "method", "variant", "seed"):
                    _check_one(point, column)
            found.append({(row.method, row.variant) for row in side})
        count = len(set.intersection(*found))
        if count < _FEWEST_POINTS:
            _refuse(
                f"{count} methods and variants on {same[0].dataset} have both {x} of {x_role} and "
                f"{options['y']} of {y_role} images; allowed: {_FEWEST_POINTS} or more"
            )


def points_of_metrics(known: Known) -> None:
    """Per data set, three points: a method and a variant."""
    for same in _groups(known.rows, "dataset"):
        rows = [row for row in same if known.metrics(row, "test") & set(known.wanted)]
        count = len({(row.method, row.variant) for row in rows if row.method != known.baseline})
        if count < _FEWEST_POINTS:
            _refuse(
                f"{count} methods and variants on {same[0].dataset} have {', '.join(known.wanted)};"
                f" allowed: {_FEWEST_POINTS} or more"
            )


def ranks(known: Known) -> None:
    """Every method in every experiment, with one recipe and variant."""
    _check_ranks(known.scored(known.options["metric"]), known)


def ranks_of_several(known: Known) -> None:
    """As `ranks`, two methods or more without the baseline."""
    rows = [row for row in known.scored(known.options["metric"]) if row.method != known.baseline]
    _check_ranks(rows, known)
    if len({row.method for row in rows}) < 2:
        _refuse("ranks one method; allowed: 2 or more")


def ranks_of_dated(known: Known) -> None:
    """As `ranks`, of the methods with a year; or printed numbers alone."""
    if known.rows:
        rows = known.scored(known.options["metric"])
        _check_ranks([row for row in rows if row.method in known.years], known)
    elif known.printed is None:
        _refuse("fits no rows, and shows no printed numbers; allowed: one of them")


def pairs(known: Known) -> None:
    """Rows with their references; one network, size, recipe and split per data set."""
    options = known.options
    between, change = options["between"], options["change"]
    if change and (between == "method" or options["against"] != "base"):
        _refuse("kind.change is of variants; allowed: without against and between: method")
    role = options["role"]
    for metric in known.wanted:
        if not known.scored(metric, role=role):
            _refuse(f"no row has {metric} of {role} images")
    rows = known.scored(*known.wanted, role=role)
    for same in _groups(rows, "dataset"):
        for column in all_but("dataset", "method", "variant", "fold", "seed"):
            _check_one(same, column)
    against = "" if options["against"] == "base" else options["against"]
    others = [column for column in COORDINATES if column != between]

    def reference(row: Row) -> str:
        return without(row.variant, change) if change else against

    there = {(getattr(row, between), *_values(row, others)) for row in rows}
    if not any(
        getattr(row, between) != reference(row) and (reference(row), *_values(row, others)) in there
        for row in rows
    ):
        wanted = ", ".join(sorted({reference(row) or "base" for row in rows}))
        found = ", ".join(sorted({getattr(row, between) or "base" for row in rows}))
        _refuse(f"no row of {between} {wanted} to compare with ({found})")


def equal_methods(known: Known) -> None:
    """The same methods, two or more, for every seed of everything else, with every metric."""
    rows = known.scored(*known.wanted)
    _check_any(rows, known)
    for row in rows:
        for metric in known.wanted:
            if metric not in known.metrics(row, "test"):
                _refuse(f"data set {row.dataset} is not scored with {metric}")
    others = [column for column in COORDINATES if column not in ("method", "seed")]
    counts = set()
    for same in _groups(rows, *others):
        counts.add(len({row.method for row in same}))
        counts |= {len(of_seed) for of_seed in _groups(same, "seed")}
    if len(counts) > 1 or min(counts) < 2:
        _refuse(
            f"fits {', '.join(map(str, sorted(counts)))} methods per seed; allowed: the same "
            "methods, at least 2, in all"
        )


def two_factors(known: Known) -> None:
    """Per data set, two losses and two values of the axis, in all combinations and seeds."""
    axis, values = known.options["axis"], known.options["values"]

    def other(row: Row) -> str:
        return parts(row.variant).get(axis, "")

    def loss(row: Row) -> tuple[str, str]:
        return row.method, without(row.variant, [axis])

    rows = [row for row in known.rows if values is None or other(row) in values]
    _check_any(rows, known, axis)
    for same, metric in itertools.product(_groups(rows, "dataset"), known.wanted):
        scored = [row for row in same if metric in known.metrics(row, "test")]
        levels = [{key(row) for row in scored} for key in (loss, other)]
        if min(map(len, levels)) < 2:
            _refuse(
                f"{len(levels[0])} losses and {len(levels[1])} values of {axis} on "
                f"{same[0].dataset}; allowed: at least 2 of each"
            )
        seeds = {row.seed for row in scored}
        counts = Counter((loss(row), other(row), row.seed) for row in scored)
        for one in itertools.product(*levels, seeds):
            count = counts[one]
            if count != 1:
                (method, variant), value, seed = one
                name = ",".join(filter(None, [variant, f"{axis}={value}" if value else ""]))
                _refuse(
                    f"{count} rows of {method} with variant {name or 'base'} and seed {seed} on "
                    f"{same[0].dataset}; allowed: 1"
                )


def one_row_per_cell(known: Known) -> None:
    """One row per panel, column, method and variant, printed or ours."""
    options = known.options
    axes = [axis for axis in (options["panel"], options["column"]) if axis]
    rows = known.scored(*known.wanted, role=options["role"])
    if not rows and not known.printed:
        _check_any(rows, known)
    keys = _keys(rows, known, options["role"], by_recipe="recipe" in axes)
    cells = defaultdict(set)
    for key in keys:
        at = [getattr(key, axis, None) or parts(key.variant).get(axis, "") for axis in axes]
        cells[(*at, key.method, without(key.variant, axes))].add(key)
    for cell, found in cells.items():
        for column in PLACED:
            values = sorted({str(getattr(key, column)) for key in found})
            if len(values) > 1:
                _refuse(
                    f"{cell[-2]} has several values of {column} ({', '.join(values)}) in one cell; "
                    "allowed: one, or make it the panel or the column"
                )


def next_to_printed(known: Known) -> None:
    """One recipe per printed number."""
    role = known.options["role"]
    _keys(known.scored(*known.wanted, role=role), known, role)


def one_method(known: Known) -> None:
    """Scores of one method on one data set with one network."""
    for role in ("validation", "test"):
        keys = _keys(known.scored(*known.wanted, role=role), known, role)
        for column in all_but("recipe", "split", "fold", "seed"):
            _check_one(keys, column)


def folds_of_one_split(known: Known) -> None:
    """Folds on one split of one data set, with one network."""
    keys = _keys(known.scored(*known.wanted), known, "test")
    for column in all_but("method", "recipe", "variant", "fold", "seed"):
        _check_one([key for key in keys if key.fold == "mean"], column)


def has_reference(known: Known) -> None:
    """Rows of the method that is subtracted."""
    rows = known.scored(*known.wanted, role=known.options["role"])
    _check_method(known.options["over"], rows)


def values_of_axes(known: Known) -> None:
    """Rows along every axis, the columns at their reference while another one varies."""
    axes = known.options.get("axes") or [known.options["axis"]]
    reference = known.options.get("reference") or {}
    for column in reference:
        if column not in COORDINATES:
            _refuse(f"kind.reference: {unknown('column', column, COORDINATES)}")
    for axis in axes:
        rows = [
            row
            for row in known.scored(*known.wanted)
            if not (set(axes) - {axis} | ({axis} if axis in reference else set()))
            & parts(row.variant).keys()
            and all(
                str(getattr(row, column)) == str(value)
                for column, value in reference.items()
                if column != axis
            )
            and (axis in COORDINATES or axis in parts(row.variant))
        ]
        _check_any(rows, known, axis)


def combined_folds(known: Known) -> None:
    """Rows of combined folds."""
    for dataset in {row.dataset for row in _check_forms(known)}:
        shown = {"metric": known.options["metric"], "dataset": dataset}
        _check_printed(known, "method", "fold", **shown)


def combined_folds_with_references(known: Known) -> None:
    """Rows of combined folds, of each reference and another method."""
    rows = _check_forms(known)
    for reference in known.options["references"]:
        _check_method(reference, rows)
    if len({row.method for row in rows}) < 2:
        _refuse("has one method; allowed: 2 or more")


def dated_methods(known: Known) -> None:
    """Rows of methods with a year; of combined folds if an option names their form."""
    fold = known.options["fold"]
    rows = [
        row for row in known.scored(*known.wanted) if row.method in known.years and row.fold == fold
    ]
    if not rows:
        _refuse(f"no row with fold {fold or 'none'} is of a method with a year")
    shown = {"metric": known.options["metric"], "fold": fold or ""}
    _check_printed(known, "dataset", "method", **shown)


def spectra(known: Known) -> None:
    """Measures with the arrays."""
    for name in known.options["spectra"]:
        if name not in known.arrays:
            _refuse(f"measures: {unknown('array of its measures', name, known.arrays)}")


def searches(known: Known) -> None:
    """Searches."""
    if not known.searches:
        _refuse("its kind shows searches; allowed: with searches")


def one_search_per_strategy(known: Known) -> None:
    """Searches, of a method by a strategy at most one."""
    searches(known)
    found = defaultdict(list)
    for name, search in known.searches.items():
        found[search.run.method, search.strategy.name].append(name)
    for (method, strategy), names in found.items():
        if len(names) > 1:
            _refuse(f"{' and '.join(names)} search {method} by {strategy}; allowed: one search")


OF_SEARCHES = {"searches", "one_search_per_strategy"}
"""Rules of kinds that show searches; only they may."""

RULES: dict[str, Callable[[Known], None]] = {
    rule.__name__: rule
    for rule in (
        combined_folds,
        combined_folds_with_references,
        dated_methods,
        equal_methods,
        folds_of_one_split,
        has_reference,
        lines_along_an_axis,
        next_to_printed,
        numbers_of_an_axis,
        one_family,
        one_family_of_networks,
        one_method,
        one_row_per_cell,
        one_search_per_strategy,
        pairs,
        points,
        points_of_metrics,
        ranks,
        ranks_of_dated,
        ranks_of_several,
        searches,
        spectra,
        two_factors,
        values_of_axes,
    )
}


def parts(variant: str) -> dict[str, str]:
    """Axis -> value of a variant; a part that is only a name is its own axis."""
    pieces = [piece.partition("=") for piece in variant.split(",") if piece]
    return {axis: value if equals else axis for axis, equals, value in pieces}


def without(variant: str, axes: Iterable[str]) -> str:
    """A variant without the parts of these axes."""
    axes = set(axes)
    return ",".join(piece for piece in variant.split(",") if piece.partition("=")[0] not in axes)


def _refuse(problem: str) -> None:
    raise UserError(problem)


def _values(row: Row, columns: Iterable[str]) -> tuple:
    return tuple(getattr(row, column) for column in columns)


def _groups(rows: Iterable, *columns: str, by: Callable | None = None) -> list[list]:
    """Rows that are equal in these columns, in their order."""
    found = defaultdict(list)
    for row in rows:
        found[(*_values(row, columns), by and by(row))].append(row)
    return list(found.values())


def _check_one(rows: Iterable, column: str) -> None:
    values = sorted({str(getattr(row, column)) for row in rows})
    if len(values) > 1:
        _refuse(f"fits rows with several values of {column} ({', '.join(values)}); allowed: one")


def _check_any(rows: Sequence, known: Known, along: str = "") -> None:
    if not rows:
        along = f" along {along}" if along else ""
        _refuse(f"fits no row that is scored with {', '.join(known.wanted)}{along}")


def _check_methods(rows: Iterable[Row], along: str) -> None:
    for same in _groups(rows, "method"):
        for column in ("recipe", "variant", "fold"):
            stripped = {
                without(row.variant, [along]) if column == "variant" else getattr(row, column)
                for row in same
            }
            if column != along and len(stripped) > 1:
                values = ", ".join(sorted(str(value) or "base" for value in stripped))
                _refuse(
                    f"fits rows of {same[0].method} with several values of {column} ({values}); "
                    "allowed: one"
                )


def _check_family(known: Known, along: str) -> None:
    """Rows of one data set, network, size and split, but for what varies along a column or axis."""
    rows = known.scored(*known.wanted)
    if size := known.options.get("embedding_dim"):
        rows = [row for row in rows if row.embedding_dim == size]
    if along not in COORDINATES:
        rows = [row for row in rows if along in parts(row.variant)]
    for column in ("embedding_dim", "dataset", "network", "split"):
        if column != along:
            _check_one(rows, column)
    _check_any(rows, known, along if along not in COORDINATES else "")
    _check_methods(rows, along)


def _check_method(method: str, rows: Sequence[Row]) -> None:
    there = {row.method for row in rows}
    if method not in there:
        _refuse(str(unknown("method of the rows", method, there)))


def _check_printed(known: Known, *keys: str, **shown: str | int) -> None:
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
            _refuse(f"kind.printed: {count} printed numbers for {named}; allowed: one")


def _check_forms(known: Known) -> list[Row]:
    rows = [row for row in known.scored(*known.wanted) if row.fold in FORMS]
    if not rows:
        _refuse(f"fits no combined folds; allowed: with fold: [{', '.join(FORMS)}]")
    return rows


def _check_ranks(rows: Sequence[Row], known: Known) -> None:
    _check_any(rows, known)
    methods = dict.fromkeys(row.method for row in rows)
    for same in _groups(rows, *EXPERIMENT):
        where = "/".join(str(value) for value in _values(same[0], EXPERIMENT) if value is not None)
        for method in methods:
            own = [row for row in same if row.method == method]
            if not own:
                _refuse(
                    f"method {method} has no row in {where}; allowed: every method in every one"
                )
            for column in ("recipe", "variant"):
                _check_one(own, column)


def _number(known: Known, row: Row) -> float | None:
    """The row's number on the kind's axis; None if it has none."""
    axis = known.options["axis"]
    text = str(getattr(row, axis)) if axis in COORDINATES else parts(row.variant).get(axis, "")
    try:
        return float(text)
    except ValueError:
        return None


def _with_numbers(known: Known, *columns: str, rest: Callable | None = None) -> list[Row]:
    """The rows with a number on the kind's axis, one per number, seed and these columns."""
    role, axis = known.options["role"], known.options["axis"]
    rows = known.scored(*known.wanted, role=role)
    rows = [row for row in rows if _number(known, row) is not None]
    if not rows:
        _refuse(
            f"fits no row that is scored with {', '.join(known.wanted)} of {role} images and has a "
            f"variant {axis}=<number>"
        )

    def by(row: Row) -> tuple:
        return _number(known, row), rest and rest(row)

    for same in _groups(rows, *columns, "seed", by=by):
        if len(same) > 1:
            at = f"{axis}={_number(known, same[0]):g}"
            _refuse(f"method {same[0].method} has {len(same)} rows at {at}; allowed: one per seed")
    return rows


class Key(namedtuple("Key", (*PLACED, "recipe"))):
    """Where a number of ours or a printed one is in a table, next to its metric and role."""


def _keys(rows: Sequence[Row], known: Known, role: str, *, by_recipe: bool = False) -> list[Key]:
    """The keys of rows and of the printed numbers of these metrics, numbers of folds as printed.

    Args:
        by_recipe: whether recipes are apart.
    """
    printed = known.printed or []
    twice = {number for number, count in Counter(printed).items() if count > 1}
    for number in printed:
        if number in twice:
            place = " ".join(str(value) for value in number[:-1] if value)
            _refuse(f"kind.printed: two printed numbers for {place}; allowed: one")
    folds = defaultdict(set)
    for number in printed:
        if number.placed:
            folds[number.split].add(number.fold)
    keys = {row: _of_row(row, folds[row.split]) for row in known.rows}
    if not by_recipe:
        for same in _groups({key for found in keys.values() for key in found}, *PLACED):
            _check_one(same, "recipe")
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


def _of_row(row: Row, printed: set[str]) -> list[Key]:
    """The keys of a row: that of its fold, and those of the folds together, if printed."""
    fold = "" if row.fold is None else str(row.fold)
    key = Key(*_values(row, (*PLACED, "recipe")))._replace(fold=fold)
    together = sorted(printed & _OF_FOLDS)
    if not isinstance(row.fold, int) or not together:
        return [key]
    alone = [] if printed <= _OF_FOLDS else [key]
    return alone + [key._replace(fold=fold) for fold in together]
