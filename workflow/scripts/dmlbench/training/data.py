"""The images of a training: which ones train, which are watched, and in what batches they come."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from dmlbench.errors import UserError


@dataclass(frozen=True)
class Images:
    """Images of one role, as arrays of equal length.

    Attributes:
        ids: int64 [N], rows of the pixel store.
        labels: int64 [N], the data set's classes.
    """

    ids: np.ndarray
    labels: np.ndarray

    @property
    def classes(self) -> np.ndarray:
        """int64 [N]: the labels, counted from 0 without gaps, as a loss wants them."""
        return np.unique(self.labels, return_inverse=True)[1]


def read_roles(index: Path, split: Path, fold: int | None) -> dict[str, Images]:
    """The images of each role of a split, or of one fold of it.

    Raises:
        UserError: no image trains.
    """
    labels = pd.read_parquet(index, columns=["image_id", "label"])
    rows = pd.read_parquet(split).merge(labels, on="image_id", validate="many_to_one")
    rows = rows[rows["fold"] == (-1 if fold is None else fold)].sort_values("image_id")
    roles = {}
    for role, group in rows.groupby("role"):
        ids, classes = group["image_id"].to_numpy(), group["label"].to_numpy(dtype=np.int64)
        roles[str(role)] = Images(ids, classes)
    if "train" not in roles:
        raise UserError(f"{split}: no training images for fold {fold}; it has {sorted(roles)}")
    return roles


def iterations(sampler, per_epoch: int | None) -> int:
    """Iterations of a training epoch: as many as asked for, or one pass of the sampler."""
    return per_epoch or len(sampler)


def batches(sampler, epoch: int, count: int) -> Iterator[np.ndarray]:
    """The batches of a training epoch (counted from 1): a window of the sampler's endless stream.

    The stream is the sampler's epochs one after another, so a training epoch of any length
    continues where the one before it ended, also after a restart.
    """
    first, offset = divmod((epoch - 1) * count, len(sampler))
    stream = itertools.chain.from_iterable(
        sampler.epoch(number) for number in itertools.count(first)
    )
    return itertools.islice(stream, offset, offset + count)
