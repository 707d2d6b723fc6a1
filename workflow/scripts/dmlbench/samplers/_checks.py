"""Checks of what the training gives every batch sampler; options are checked by the registry."""

from collections.abc import Sequence

import numpy as np

from dmlbench.errors import UserError, check_count
from dmlbench.tensors import integers


def checked_labels(labels: Sequence[int], batch_size: int, seed: int) -> np.ndarray:
    """Labels as int64 [N], after checking the arguments that all samplers share.

    Args:
        labels: integers of any type, in a list, an array, or a tensor on any device.

    Raises:
        UserError: labels are not a list of integers, or batch size or seed are out of range.
    """
    labels = integers("labels", labels)
    if labels.ndim != 1 or not len(labels):
        raise UserError(f"labels: shape {labels.shape}; allowed: [N], N > 0")
    check_count("batch_size", batch_size, least=1)
    check_count("seed", seed, least=0)
    return labels


def batch_within(images: int, batch_size: int) -> int:
    """The batch size, or a UserError if there are fewer images."""
    if batch_size > images:
        raise UserError(
            f"batch_size = {batch_size}; allowed: at most the {images} images there are"
        )
    return int(batch_size)


def classes_per_batch(batch_size: int, images_per_class: int, classes: int) -> int:
    """P of a P x K batch: batch_size / images_per_class.

    Raises:
        UserError: the batch size is not a multiple of K, or there are fewer than P classes.
    """
    if batch_size % images_per_class:
        raise UserError(
            f"batch_size = {batch_size}; allowed: a multiple of images_per_class = "
            f"{images_per_class}"
        )
    wanted = batch_size // images_per_class
    if wanted > classes:
        raise UserError(
            f"batch_size = {batch_size} with images_per_class = {images_per_class} needs {wanted} "
            f"classes; allowed: at most the {classes} classes there are"
        )
    return int(wanted)
