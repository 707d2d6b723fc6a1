"""Classes into roles."""

from collections.abc import Sequence

import numpy as np
import pandas

TEST = ("test", "query", "gallery")
"""Roles of images that are scored and never trained on."""


def halves(index: pandas.DataFrame, draw: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Labels of the first half of the classes and of the second, each in ascending order.

    With an odd number of classes, the middle one is in the first half.

    Args:
        draw: seed of a shuffle of the classes, in whose order the halves then are; None for none.
    """
    labels = np.sort(index["label"].unique())
    if draw is not None:
        labels = np.random.default_rng(draw).permutation(labels)
    middle = (len(labels) + 1) // 2
    return labels[:middle], labels[middle:]


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
