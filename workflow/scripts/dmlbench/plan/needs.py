"""What kinds of tables and figures need of their rows, checked before a row is trained.

A kind names its rule, a function here, as the constant NEEDS of its file. A rule raises a UserError
for rows of which the kind could not make a table or a figure once they are scored; it knows the
rows, and the metrics of each.
"""

import itertools
from collections import Counter, defaultdict

from dmlbench.errors import check_known
from dmlbench.plan.rows import COORDINATES, PLACED, Row, all_but
from dmlbench.plan.variant_parts import parts, without
from dmlbench.plan.view_rows import (
    Known,
    check_any,
    check_family,
    check_forms,
    check_method,
    check_one,
    check_printed,
    check_ranks,
    groups,
    keys_of,
    number_on_axis,
    refuse,
    values_of,
    with_numbers,
)

_FEWEST_POINTS = 3
"""Points that a correlation needs."""


def one_family(known: Known) -> None:
    """One data set, network and split; per method one recipe, variant and fold."""
    along = known.options.get("axis", "embedding_dim")
    check_family(known, along)
    if size := known.options.get("embedding_dim"):
        check_printed(known, "method", "metric", embedding_dim=size)
    else:
        check_printed(known, "metric", "method", along)


def one_family_of_networks(known: Known) -> None:
    """As `one_family`, with any networks and one embedding size."""
    check_family(known, "network")
    shown = {"metric": known.options["metric"], "embedding_dim": known.rows[0].embedding_dim}
    check_printed(known, "network", "method", **shown)


def numbers_of_an_axis(known: Known) -> None:
    """Rows with numbers of an axis, one per method, number and seed, and each listed number."""
    rows = with_numbers(known, "method")
    there = {number_on_axis(known, row) for row in rows}
    for value in known.options["values"]:
        if value not in there:
            refuse(f"no row has {known.options['axis']}={value:g}")


def lines_along_an_axis(known: Known) -> None:
    """Rows with numbers of an axis, one per data set, method, rest of the variant and seed."""
    axes = [known.options["axis"], *(known.options["change"] or ())]
    with_numbers(known, "dataset", "method", rest=lambda row: without(row.variant, axes))


def points(known: Known) -> None:
    """Per data set, three points of which each has both metrics: a method and a variant."""
    y = known.options["y"]
    for same, x in itertools.product(groups(known.rows, "dataset"), known.options["x"]):
        sides = [
            [row for row in same if metric in known.metrics(row, role)]
            for metric, role in ((x, "train"), (y, "test"))
        ]
        scored_points = []
        for side in sides:
            for point in groups(side, "method", "variant"):
                for column in all_but("dataset", "method", "variant", "seed"):
                    check_one(point, column)
            scored_points.append({(row.method, row.variant) for row in side})
        count = len(set.intersection(*scored_points))
        if count < _FEWEST_POINTS:
            refuse(
                f"{count} methods and variants on {same[0].dataset} have both {x} of train and "
                f"{y} of test images; allowed: {_FEWEST_POINTS} or more"
            )


def points_of_metrics(known: Known) -> None:
    """Per data set, three points: a method and a variant."""
    for same in groups(known.rows, "dataset"):
        rows = [row for row in same if known.metrics(row, "test") & set(known.wanted)]
        count = len({(row.method, row.variant) for row in rows if row.method != known.baseline})
        if count < _FEWEST_POINTS:
            refuse(
                f"{count} methods and variants on {same[0].dataset} have {', '.join(known.wanted)};"
                f" allowed: {_FEWEST_POINTS} or more"
            )


def ranks(known: Known) -> None:
    """Every method in every experiment, with one recipe and variant."""
    check_ranks(known.scored(known.options["metric"]), known)


def ranks_of_several(known: Known) -> None:
    """As `ranks`, two methods or more without the baseline."""
    rows = [row for row in known.scored(known.options["metric"]) if row.method != known.baseline]
    check_ranks(rows, known)
    if len({row.method for row in rows}) < 2:
        refuse("ranks one method; allowed: 2 or more")


def ranks_of_dated(known: Known) -> None:
    """As `ranks`, of the methods with a year; or printed numbers alone."""
    if known.rows:
        rows = known.scored(known.options["metric"])
        check_ranks([row for row in rows if row.method in known.years], known)
    elif known.printed is None:
        refuse("fits no rows, and shows no printed numbers; allowed: one of them")


def pairs(known: Known) -> None:
    """Rows with their references; one network, size, recipe and split per data set."""
    options = known.options
    between, change = options["between"], options["change"]
    if change and (between == "method" or options["against"] != "base"):
        refuse("kind.change is of variants; allowed: without against and between: method")
    role = options["role"]
    for metric in known.wanted:
        if not known.scored(metric, role=role):
            refuse(f"no row has {metric} of {role} images")
    rows = known.scored(*known.wanted, role=role)
    for same in groups(rows, "dataset"):
        for column in all_but("dataset", "method", "variant", "fold", "seed"):
            check_one(same, column)
    against = "" if options["against"] == "base" else options["against"]
    others = [column for column in COORDINATES if column != between]

    def reference(row: Row) -> str:
        return without(row.variant, change) if change else against

    there = {(getattr(row, between), *values_of(row, others)) for row in rows}
    if not any(
        getattr(row, between) != reference(row)
        and (reference(row), *values_of(row, others)) in there
        for row in rows
    ):
        wanted = ", ".join(sorted({reference(row) or "base" for row in rows}))
        present = ", ".join(sorted({getattr(row, between) or "base" for row in rows}))
        refuse(f"no row of {between} {wanted} to compare with ({present})")


def equal_methods(known: Known) -> None:
    """The same methods, two or more, for every seed of everything else, with every metric."""
    rows = known.scored(*known.wanted)
    check_any(rows, known)
    for row in rows:
        for metric in known.wanted:
            if metric not in known.metrics(row, "test"):
                refuse(f"data set {row.dataset} is not scored with {metric}")
    others = [column for column in COORDINATES if column not in ("method", "seed")]
    counts = set()
    for same in groups(rows, *others):
        counts.add(len({row.method for row in same}))
        counts |= {len(of_seed) for of_seed in groups(same, "seed")}
    if len(counts) > 1 or min(counts) < 2:
        refuse(
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
    check_any(rows, known, axis)
    for same, metric in itertools.product(groups(rows, "dataset"), known.wanted):
        scored = [row for row in same if metric in known.metrics(row, "test")]
        levels = [{key(row) for row in scored} for key in (loss, other)]
        if min(map(len, levels)) < 2:
            refuse(
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
                refuse(
                    f"{count} rows of {method} with variant {name or 'base'} and seed {seed} on "
                    f"{same[0].dataset}; allowed: 1"
                )


def one_row_per_cell(known: Known) -> None:
    """One row per panel, column, method and variant, printed or ours."""
    options = known.options
    axes = [axis for axis in (options["panel"], options["column"]) if axis]
    rows = known.scored(*known.wanted, role=options["role"])
    if not rows and not known.printed:
        check_any(rows, known)
    keys = keys_of(rows, known, options["role"], by_recipe="recipe" in axes)
    cells = defaultdict(set)
    for key in keys:
        at = [getattr(key, axis, None) or parts(key.variant).get(axis, "") for axis in axes]
        cells[(*at, key.method, without(key.variant, axes))].add(key)
    for cell, cell_keys in cells.items():
        for column in PLACED:
            values = sorted({str(getattr(key, column)) for key in cell_keys})
            if len(values) > 1:
                refuse(
                    f"{cell[-2]} has several values of {column} ({', '.join(values)}) in one cell; "
                    "allowed: one, or make it the panel or the column"
                )


def next_to_printed(known: Known) -> None:
    """One recipe per printed number."""
    role = known.options["role"]
    keys_of(known.scored(*known.wanted, role=role), known, role)


def one_method(known: Known) -> None:
    """Scores of one method on one data set with one network."""
    for role in ("validation", "test"):
        keys = keys_of(known.scored(*known.wanted, role=role), known, role)
        for column in all_but("recipe", "split", "fold", "seed"):
            check_one(keys, column)


def has_reference(known: Known) -> None:
    """Rows of the method that is subtracted."""
    rows = known.scored(*known.wanted, role=known.options["role"])
    check_method(known.options["over"], rows)


def values_of_axes(known: Known) -> None:
    """Rows along every axis, the columns at their reference while another one varies."""
    axes = known.options.get("axes") or [known.options["axis"]]
    reference = known.options.get("reference") or {}
    check_known("kind.reference", "column", reference, COORDINATES)
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
        check_any(rows, known, axis)


def combined_folds(known: Known) -> None:
    """Rows of combined folds."""
    for dataset in {row.dataset for row in check_forms(known)}:
        shown = {"metric": known.options["metric"], "dataset": dataset}
        check_printed(known, "method", "fold", **shown)


def combined_folds_with_references(known: Known) -> None:
    """Rows of combined folds, of each reference and another method."""
    rows = check_forms(known)
    for reference in known.options["references"]:
        check_method(reference, rows)
    if len({row.method for row in rows}) < 2:
        refuse("has one method; allowed: 2 or more")


def dated_methods(known: Known) -> None:
    """Rows of methods with a year; of combined folds if an option names their form."""
    fold = known.options["fold"]
    rows = [
        row for row in known.scored(*known.wanted) if row.method in known.years and row.fold == fold
    ]
    if not rows:
        refuse(f"no row with fold {fold or 'none'} is of a method with a year")
    shown = {"metric": known.options["metric"], "fold": fold or ""}
    check_printed(known, "dataset", "method", **shown)


def spectra(known: Known) -> None:
    """Measures with the arrays."""
    check_known("measures", "array of its measures", known.options["spectra"], known.arrays)


def searches(known: Known) -> None:
    """Searches."""
    if not known.searches:
        refuse("its kind shows searches; allowed: with searches")


def one_search_per_strategy(known: Known) -> None:
    """Searches, of a method by a strategy at most one."""
    searches(known)
    names_of = defaultdict(list)
    for name, search in known.searches.items():
        names_of[search.run.method, search.strategy.name].append(name)
    for (method, strategy), names in names_of.items():
        if len(names) > 1:
            refuse(f"{' and '.join(names)} search {method} by {strategy}; allowed: one search")


OF_SEARCHES = {"searches", "one_search_per_strategy"}
"""Rules of kinds that show searches; only they may."""
