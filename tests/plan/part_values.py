"""Allowed and refused values of every option of every part, and what building with them says."""

import importlib
import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, get_args, get_origin

import numpy as np
import pandas as pd
import project
from dmlbench import registry
from dmlbench.errors import UserError
from dmlbench.values import (
    Added,
    Infinity,
    Interval,
    Metric,
    MultipleOf,
    OtherThan,
    PartThat,
    RankingMetric,
    Rising,
    fits,
)
from hypothesis import strategies as st

PACKAGES = sorted([*project.PACKAGES, "presentation/figures", "presentation/tables"])
PARTS = [(package, name) for package in PACKAGES for name in registry.available(package)]
OPTIONS = [
    (package, name, key)
    for package, name in PARTS
    for key, option in registry.options(package, name).items()
    if not option.is_fact
]
FACTS = {
    "batch_size": 60,
    "embedding_dim": 4,
    "epochs": 20,
    "id": "id",
    "input_channels": 3,
    "labels": np.repeat(np.arange(60), 4).tolist(),
    "arrays": {
        0: {
            "points": np.zeros((4, 2)),
            "labels": np.zeros(4),
            "arrows_3_6_r=0": np.zeros((3, 2, 2)),
        }
    },
    "methods": ["margin"],
    "num_classes": 3,
    "parameters": {},
    "rows": [],
    "searches": {},
    "seed": 0,
    "selection": "last_epoch",
    "spec_values": {},
    "title": "Title",
    "years": {"margin": 2017},
}
PRINTED = pd.DataFrame(
    {"metric": ["recall_at_1"], "role": ["test"], "method": ["margin"], "number": [60.0]}
)
NEEDED = {
    "against": "margin",
    "axes": ["m"],
    "axis": "classes",
    "change": ["p_switch"],
    "between": "method",
    "embedding_dim": 4,
    "figure": "3_6",
    "mean": [0.5],
    "metric": "recall_at_1",
    "metrics": ["recall_at_1"],
    "model": "resnet18",
    "size": 16,
    "losses": ["margin"],
    "over": "margin",
    "references": ["margin"],
    "reference": {"m": 1},
    "numbers": [{"label": "Label", "metric": "recall_at_1"}],
    "spaces": [{"array": "points", "title": "Points"}],
    "std": [0.5],
    "values": [10.0],
    "x": ["recall_at_1"],
}
"""Values of options without a default."""

DEPENDENT = {
    ("data/generators", "glyphs", "characters"): "there are only so many characters",
    ("data/transforms", "normalize", "mean"): "as many numbers as std",
    ("data/transforms", "normalize", "std"): "as many numbers as mean",
    ("experiments", "gaussian_classes", "classes"): "more than training_classes",
    ("experiments", "gaussian_classes", "training_classes"): "fewer than classes",
    ("experiments", "projection_toy", "batch_size"): "a multiple of images_per_class",
    ("experiments", "projection_toy", "classes"): "enough for a batch",
    ("experiments", "projection_toy", "images_per_class"): "a divisor of batch_size",
    ("experiments", "random_embeddings", "classes"): "half the points or fewer",
    ("experiments", "random_embeddings", "points"): "twice the classes or more",
    ("miners", "distance_weighted", "lower_cutoff"): "below upper_cutoff",
    ("miners", "distance_weighted", "upper_cutoff"): "above lower_cutoff",
    ("miners", "distance_weighted_pairs", "lower_cutoff"): "below upper_cutoff",
    ("miners", "distance_weighted_pairs", "upper_cutoff"): "above lower_cutoff",
    ("presentation/figures", "force_field", "draws"): "what the arrays have",
    ("presentation/figures", "force_field", "figure"): "a figure that the arrays are of",
    ("presentation/figures", "point_spaces", "spaces"): "names of arrays",
    ("samplers", "class_balanced", "images_per_class"): "a divisor of batch_size",
    ("samplers", "class_balanced_with_replacement", "images_per_class"): "a divisor of batch_size",
    ("samplers", "distance_distribution", "pool_size"): "batch_size or more",
    ("samplers", "distance_distribution", "group_size"): "a divisor of batch_size",
    ("samplers", "frd", "pool_size"): "batch_size or more",
    ("samplers", "frd", "group_size"): "a divisor of batch_size",
    ("samplers", "greedy_coreset", "pool_size"): "batch_size or more",
    ("samplers", "greedy_coreset", "group_size"): "a divisor of batch_size",
    ("samplers", "profs", "images_per_class"): "a divisor of batch_size",
    ("samplers", "profs_hncm", "images_per_class"): "a divisor of batch_size",
    ("samplers", "spc", "images_per_class"): "a divisor of batch_size",
    ("samplers", "spc_with_replacement", "images_per_class"): "a divisor of batch_size",
}
"""Options with additional constraints, which the part itself checks."""

FREE = {
    "against": "a variant or a method, or base",
    "axes": "columns, or axes of the variants",
    "axis": "a column, or an axis of the variants",
    "box": "a column of the user's",
    "change": "parts of a variant",
    "column": "a column, or an axis of the variants",
    "compared_with": "variants, as printed and of ours",
    "file": "a name of the user's",
    "figure": "what an experiment's arrays are of",
    "group": "a column of the user's",
    "label": "a column of the user's",
    "labels": "text for readers, or an array of an experiment",
    "metric": "also one of an experiment",
    "metrics": "also metrics of an experiment",
    "model": "a name of another package",
    "numbers": "text for readers",
    "options": "options of the named losses",
    "over": "names of the catalog, or of an experiment",
    "path": "a column of the user's",
    "panel": "a column, or an axis of the variants",
    "reference": "columns and their values",
    "references": "names of the catalog",
    "row_header": "text for readers",
    "spaces": "text for readers, and arrays of an experiment",
    "start": "values of the search's parameters",
    "values": "values of an axis",
}
"""Options of free words, and what they name."""

NO_NUMBERS = ["big", "1", None, True, [], [1.0], {}, math.nan, -math.inf]


def signature(package, name):
    module = importlib.import_module(f"dmlbench.{package}.{name}".replace("/", "."))
    names = {key.lower(): value for key, value in vars(module).items() if inspect.isclass(value)}
    return names[name.replace("_", "")].__init__


def others(package, name, key):
    """Values of a part's required options."""
    options = registry.options(package, name)
    needed = {other: NEEDED.get(other, PRINTED) for other in options if other != key}
    return {
        other: value
        for other, value in needed.items()
        if options[other].required and not options[other].is_fact
    }


def built(package, name, **options):
    return registry.build(package, name, context=FACTS, **options)


def refusal(function, *given, **options):
    """The line of the error; None if there is none."""
    try:
        function(*given, **options)
    except UserError as error:
        return str(error)
    return None


def inside(kind):
    """Values of a declared type, not too large."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Infinity or kind == Infinity:
        return st.just(math.inf)
    if kind in (Metric, RankingMetric):
        return st.sampled_from(["recall_at_1", "precision_at_1000", "nmi", "map_at_r"])
    if origin is Annotated:
        base, *constraints = (each for each in arguments if each != Added())
        return narrowed(base, *constraints) if constraints else inside(base)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.tuples(*map(inside, arguments)).map(list)
    if origin in (list, Sequence):
        return st.lists(inside(arguments[0]), min_size=1, max_size=3)
    if origin is Mapping:
        return st.dictionaries(inside(arguments[0]), inside(arguments[1]), max_size=2)
    if arguments:
        return st.one_of(map(inside, arguments))
    return {
        float: st.floats(-1e3, 1e3) | st.integers(-1000, 1000),
        int: st.integers(-20, 20),
        bool: st.booleans(),
        str: st.text("abc", min_size=1, max_size=5),
        type(None): st.none(),
    }[kind]


def narrowed(base, constraint, *more):
    if isinstance(constraint, Rising):
        return inside(base).map(sorted)
    if isinstance(constraint, OtherThan):
        return inside(base).filter(lambda number: number != constraint.value)
    if isinstance(constraint, PartThat):
        return st.sampled_from(constraint.names())
    assert isinstance(constraint, Interval)
    low, high = constraint.low, min(constraint.high, constraint.low + 20)
    if base is int:
        (step,) = [each.divisor for each in more if isinstance(each, MultipleOf)] or [1]
        first = -(-low // step)
        return st.integers(first, max(first, high // step)).map(lambda number: number * step)
    return st.floats(
        low,
        high,
        exclude_min=constraint.open in ("low", "both"),
        exclude_max=constraint.open in ("high", "both"),
    )


def outside(kind):
    """Values that a declared type does not allow, next to its ends and far away."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        base, *constraints = arguments
        found = outside(base) if base is not object else NO_NUMBERS
        for constraint in constraints:
            if isinstance(constraint, Interval):
                found = found + beyond(base, constraint)
            if isinstance(constraint, MultipleOf):
                found = [*found, constraint.divisor * 2 + 1]
            if isinstance(constraint, OtherThan):
                found = [*found, constraint.value, float(constraint.value)]
            if isinstance(constraint, Rising):
                found = [*found, [1.0, 0.5]]
        return found
    if origin in (list, Sequence):
        return [None, True, 1, {}, [], *([wrong] for wrong in outside(arguments[0]))]
    if origin is tuple:
        return [None, True, 1, [], [0.5], *([wrong, wrong] for wrong in outside(arguments[0]))]
    if origin is Mapping:
        return [None, True, 1, [], *({"a": wrong} for wrong in outside(arguments[1]))]
    if origin is Literal:
        return ["other", 99, None, True, []]
    if arguments:
        wrong = [value for each in arguments for value in outside(each)]
        return [value for value in wrong if not any(fits(each, value) for each in arguments)]
    if kind in (float, int):
        wrong = [*NO_NUMBERS, math.inf, 10**400 if kind is float else 1.0]
        return wrong if kind is float else [*wrong, 0.5]
    return [None, 1, 0.5, [], {}] if kind in (bool, str) else [1, "null", False]


def beyond(base, interval):
    ends = []
    for end, sign in ((interval.low, -1), (interval.high, 1)):
        if math.isfinite(end):
            is_out = interval.open in (("low", "both") if sign < 0 else ("high", "both"))
            near = end + sign if base is int else math.nextafter(end, sign * math.inf)
            ends += [near, end + sign * 1000] + ([end] if is_out else [])
    return ends
