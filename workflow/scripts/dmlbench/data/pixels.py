"""Packed pixels, mapped into memory and handed out as batches."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import torch
from torch import Tensor

from dmlbench.data import _tables
from dmlbench.errors import UserError


class Pixels:
    """The images of a data set, as `dmlbench.data.pack.pack` left them.

    Attributes:
        shape: (C, H, W) where all images are of one size, else None.
        facts: what the table's metadata say of the making.

    Args:
        pixels: the .npy of the pixels.
        table: the Parquet file beside it.

    Raises:
        UserError: the pixels are no .npy, or are more or fewer than the table says.
    """

    def __init__(self, pixels: Path, table: Path):
        self.path = Path(pixels)
        self.facts = _tables.facts(table)
        rows = pq.read_table(table)
        self._ids = rows["image_id"].to_numpy()
        self._offsets = rows["offset"].to_numpy()
        shapes = [rows[name].to_numpy() for name in ("channels", "height", "width")]
        self._shapes = np.stack(shapes, axis=1).astype(np.int64)
        self._flat = self._map(Path(table))
        uniform = len(self._shapes) > 0 and (self._shapes == self._shapes[0]).all()
        self.shape = tuple(self._shapes[0].tolist()) if uniform else None
        self._stacked = self._flat.reshape(-1, *self.shape) if uniform else None

    def __len__(self) -> int:
        return len(self._ids)

    def images(self, ids: Sequence[int] | np.ndarray | Tensor) -> Tensor:
        """Images by their ids: uint8 [B, C, H, W], on the CPU.

        Raises:
            UserError: an id that is not there, or images of more than one size.
        """
        rows = self._rows(np.asarray(ids, dtype=np.int64))
        if self._stacked is not None:
            places = self._offsets[rows] // int(np.prod(self.shape))
            return torch.from_numpy(np.take(self._stacked, places, axis=0))
        shapes = np.unique(self._shapes[rows], axis=0)
        if len(shapes) > 1:
            named = " and ".join("x".join(map(str, shape)) for shape in shapes[:2].tolist())
            raise UserError(
                f"{self.path}: the images of a batch are of {len(shapes)} sizes ({named}); "
                "only images of one size make a batch"
            )
        return torch.from_numpy(np.stack([self._image(row) for row in rows]))

    def check(self) -> None:
        """Read all pixels; raise a UserError unless their sha256 is the one that was packed."""
        found = hashlib.sha256(self._flat).hexdigest()
        if found != self.facts["pixels_sha256"]:
            expected = self.facts["pixels_sha256"]
            raise UserError(f"{self.path}: expected pixels of sha256 {expected}, found {found}")

    def _image(self, row: int) -> np.ndarray:
        shape, offset = self._shapes[row], self._offsets[row]
        return self._flat[offset : offset + shape.prod()].reshape(shape)

    def _rows(self, ids: np.ndarray) -> np.ndarray:
        rows = np.searchsorted(self._ids, ids).clip(max=len(self._ids) - 1)
        absent = ids[self._ids[rows] != ids]
        if len(absent):
            raise UserError(f"{self.path}: no image has the id {absent[0]}")
        return rows

    def _map(self, table: Path) -> np.ndarray:
        try:
            flat = np.load(self.path, mmap_mode="r")
        except (ValueError, EOFError) as error:
            raise UserError(f"{self.path}: damaged or incomplete: {error}") from error
        expected = int(self._shapes.prod(axis=1).sum())
        if flat.dtype != np.uint8 or flat.shape != (expected,):
            raise UserError(
                f"{self.path}: expected {expected} uint8 pixels by {table.name}, found "
                f"{flat.dtype} {flat.shape}"
            )
        return flat.view(np.ndarray)
