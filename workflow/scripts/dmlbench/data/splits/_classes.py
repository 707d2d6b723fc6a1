"""Classes into roles."""

from collections.abc import Sequence

import numpy as np
import pandas
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

TEST = ("test", "query", "gallery")
"""Roles of images that are scored and never trained on."""


def halves(
    index: pandas.DataFrame, draw: int | None = None, *, swapped: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Labels of the half of the classes that trains and of the other, each in ascending order.

    The first half trains, unless the halves are swapped.

    With an odd number of classes, the middle one is in the first half. Classes that share a group
    of images are in one half, and the halves differ by as little as this allows; the second is
    empty if groups connect all classes.

    Args:
        draw: seed of a shuffle of the classes, in whose order the halves then are; None for none.
        swapped: whether the second half trains.
    """
    parts = _inseparable(index)
    if draw is not None:
        parts = [parts[part] for part in np.random.default_rng(draw).permutation(len(parts))]
    middle = (sum(map(len, parts)) + 1) // 2
    cut = int(np.abs(np.cumsum([len(part) for part in parts]) - middle).argmin()) + 1
    label_halves = np.concatenate(parts[:cut]), np.concatenate([*parts[cut:], parts[0][:0]])
    if draw is None:
        label_halves = tuple(np.sort(half) for half in label_halves)
    return label_halves[::-1] if swapped else label_halves


def _inseparable(index: pandas.DataFrame) -> list[np.ndarray]:
    """Labels that groups of images connect, by the smallest; without groups each one alone."""
    labels = np.sort(index["label"].unique())
    if "group" not in index:
        return list(labels[:, None])
    grouped = index[index["group"] != ""]
    places = np.searchsorted(labels, grouped["label"])
    groups, _ = pandas.factorize(grouped["group"])
    size = len(labels) + len(grouped)
    links = coo_array((np.ones(len(grouped)), (places, len(labels) + groups)), (size, size))
    _, part = connected_components(links, directed=False)
    return [labels[part[: len(labels)] == one] for one in dict.fromkeys(part[: len(labels)])]


def equal_parts(labels: Sequence[int], count: int) -> list[Sequence[int]]:
    """Parts of one size, rounded down: part i ends at (i + 1) / count of the labels."""
    size = len(labels) // count
    ends = [(part + 1) * len(labels) // count for part in range(count)]
    return [labels[end - size : end] for end in ends]


def roles(
    index: pandas.DataFrame, validation: np.ndarray, test: np.ndarray, fold: int = -1
) -> pandas.DataFrame:
    """Roles of all images of a fold: the given classes validate and test, the others train."""
    role = np.select(
        [index["label"].isin(test), index["label"].isin(validation)],
        ["test", "validation"],
        "train",
    )
    return pandas.DataFrame({"image_id": index["image_id"], "role": role, "fold": fold})


def folds(
    index: pandas.DataFrame, validations: list[np.ndarray], test: np.ndarray
) -> pandas.DataFrame:
    """One row per image and fold: in each fold the next group of classes validates."""
    return pandas.concat(
        [roles(index, classes, test, fold) for fold, classes in enumerate(validations)],
        ignore_index=True,
    )
