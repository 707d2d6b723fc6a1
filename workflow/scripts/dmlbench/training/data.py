"""The images of a training: which ones train, and which are watched."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from dmlbench.errors import UserError
from dmlbench.parquet import read_table


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
        """int64 [N]: the labels, counted from 0 without gaps, as losses need them."""
        return np.unique(self.labels, return_inverse=True)[1]


def read_roles(index: Path, split: Path, fold: int | None) -> dict[str, Images]:
    """The images of each role of a split, or of one fold of it.

    Raises:
        UserError: there are no training images.
    """
    rows = read_table(index, columns=["image_id", "label"])
    label_of = dict(zip(*(rows[name].to_pylist() for name in ("image_id", "label")), strict=True))
    table = read_table(split)
    table = table.filter(pc.field("fold") == (-1 if fold is None else fold)).sort_by("image_id")
    roles = {}
    for role in sorted(set(table["role"].to_pylist())):
        ids = table.filter(pc.field("role") == role)["image_id"].to_numpy()
        roles[role] = Images(ids, np.array([label_of[image_id] for image_id in ids.tolist()]))
    if "train" not in roles:
        of_fold = "" if fold is None else f" in fold {fold}"
        raise UserError(f"{split}: no training images{of_fold}; it has {sorted(roles)}")
    return roles
