"""Features of a frozen network: computed once for a data set, and returned as batches."""

import copy
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from dmlbench.errors import DamagedError, UserError
from dmlbench.tensor_files import read_tensors, write_tensors


def write_features(path: Path, image_ids: np.ndarray, features: Tensor, origin: dict) -> None:
    """Write features as safetensors, with the sha256 of their values in the metadata.

    Args:
        path: the file to write.
        image_ids: int64 [N], ascending.
        features: float32 [N, F], on the CPU.
        origin: what they were computed from, as plain values; in the metadata, too.
    """
    tensors = {"image_id": torch.from_numpy(image_ids), "features": features.contiguous()}
    write_tensors(path, tensors, origin)


class Features:
    """The features of a data set's images: for heads, what `dmlbench.data.pixels.Pixels` are.

    Attributes:
        features: numbers per image.

    Args:
        path: a file of `write_features`; it is only read.

    Raises:
        DamagedError: another file, or one whose values are not those that were written.
    """

    def __init__(self, path: Path):
        self.path = Path(path)
        tensors = read_tensors(self.path)
        if tensors.keys() != {"image_id", "features"}:
            raise DamagedError(self.path, ValueError("it has no features"))
        self._ids, self._values = tensors["image_id"].numpy(), tensors["features"]
        self.features = self._values.shape[1]

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def bytes(self) -> int:
        """Bytes of all features."""
        return self._values.nbytes

    @property
    def device(self) -> torch.device:
        """Where batches come from."""
        return self._values.device

    def to(self, device: torch.device) -> "Features":
        """The same features on another device."""
        moved = copy.copy(self)
        moved._values = self._values.to(device)
        return moved

    def batch(self, ids: Sequence[int] | np.ndarray | Tensor) -> Tensor:
        """Features by image ids: float32 [B, F], on the store's device.

        Raises:
            UserError: an id does not exist.
        """
        ids = np.asarray(ids, dtype=np.int64)
        rows = np.searchsorted(self._ids, ids).clip(max=len(self) - 1)
        absent = ids[self._ids[rows] != ids]
        if len(absent):
            raise UserError(f"{self.path}: no image has the id {absent[0]}")
        if self.device.type == "cpu":
            return torch.from_numpy(self._values.numpy()[rows])
        return self._values[torch.from_numpy(rows).to(self.device, non_blocking=True)]
