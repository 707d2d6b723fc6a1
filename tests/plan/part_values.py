"""Allowed and refused values of every option of every part, and what building with them says."""

import importlib
import inspect
import math
from typing import Literal, get_args, get_origin

import numpy as np
import pandas as pd
import project
from dmlbench import part_files, registry
from dmlbench.errors import UserError
from dmlbench.part_files import part_of

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
    "search": "",
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
    "designs": [[1, 2]],
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
    "renderer": "0.5.0",
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
    "absent": "text for readers",
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
    "renderer": "a version of another package",
    "row": "columns of the long table",
    "row_header": "text for readers",
    "sha256": "a hash of what is drawn",
    "spaces": "text for readers, and arrays of an experiment",
    "start": "values of the search's parameters",
    "values": "values of an axis",
}
"""Options of free words, and what they name."""

WORDS = ["margin", "recall_at_1", "nmi", "pi_ratio", "triplet", "multi_similarity", "other", "1"]
NUMBERS = [2, 1, 0, -1, -3, 1.0, 0.25, 1e-4, -0.5, 16, 17, 32, 61, 257]
NO_NUMBERS = [None, True, False, math.inf, -math.inf, math.nan]
SINGLE = [*WORDS, *NUMBERS, *NO_NUMBERS]
VALUES = [
    *SINGLE,
    [],
    {},
    *([each] for each in SINGLE),
    *([each, each] for each in NUMBERS),
    [1.0, 0.25],
    *({"a": each} for each in SINGLE),
    {"margin": {"margin": 0.25}},
    {"triplet": {"margin": 0.25}},
]
"""Values of all types, next to the ends of ranges and far away."""


def words_of(kind):
    """The words of a choice."""
    parts = get_args(kind)
    return (
        parts
        if get_origin(kind) is Literal
        else [word for each in parts for word in words_of(each)]
    )


def signature(package, name):
    file = part_files.file_of(package, name)
    module = importlib.import_module(f"dmlbench.{package}.{file.stem}".replace("/", "."))
    name = part_of(package, name)
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


def says(function, *given, **options):
    """The line of the error; None if there is none."""
    try:
        function(*given, **options)
    except UserError as error:
        return str(error)
    return None
