"""Packed pixels, mapped into memory and returned as batches."""

import copy
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from dmlbench.data.ragged import Ragged
from dmlbench.errors import DamagedError, UserError
from dmlbench.files import damage_is_named
from dmlbench.parquet import read_table


class Pixels:
    """The images of a data set, as `dmlbench.data.pack.pack` wrote them.

    An image is compared with its checksum when it is first read, all are before they are moved to
    another device; stores of before version 0.2 have no checksums.

    Attributes:
        shape: (C, H, W) where all images are of one size, else None.
        features: None; a number in a store of features.

    Args:
        pixels: the .npy of the pixels; it is only read.
        table: the Parquet file next to it.

    Raises:
        UserError: a damaged table; the pixels are not a .npy, or their number is not the table's.
    """

    features: int | None = None

    def __init__(self, pixels: Path, table: Path):
        self.path = Path(pixels)
        rows = read_table(table)
        self._ids = rows["image_id"].to_numpy()
        self._offsets = rows["offset"].to_numpy()
        self._sizes = np.stack([rows[name].to_numpy() for name in ("height", "width")], axis=1)
        self._sizes = self._sizes.astype(np.int64)
        # One number for all: the store is packed gray or rgb.
        self._channels = int(rows["channels"][0].as_py()) if len(rows) else 1
        self._flat = self._map(Path(table))
        has_checksums = "crc32" in rows.column_names
        self._checksums = rows["crc32"].to_numpy() if has_checksums else None
        self._is_checked = np.full(len(rows), not has_checksums)
        uniform = len(rows) > 0 and (self._sizes == self._sizes[0]).all()
        self.shape = (self._channels, *self._sizes[0].tolist()) if uniform else None

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def bytes(self) -> int:
        """Bytes of all pixels."""
        return len(self._flat)

    @property
    def device(self) -> torch.device:
        """Where batches come from."""
        return self._flat.device

    def to(self, device: torch.device) -> "Pixels":
        """The same store with all pixels on another device; raises as `batch`."""
        self._check(np.arange(len(self)))
        moved = copy.copy(self)
        moved._flat = self._flat.to(device)
        return moved

    def batch(self, ids: Sequence[int] | np.ndarray | Tensor) -> Tensor | Ragged:
        """Images by their ids, on the store's device.

        Returns:
            uint8 [B, C, H, W], channels last, if all images of the store are of one size, else a
            ragged batch.

        Raises:
            UserError: an id does not exist.
            DamagedError: pixels differ from their checksum.
        """
        rows = self._rows(np.asarray(ids, dtype=np.int64))
        self._check(rows)
        if self.shape is None:
            return self._ragged(rows)
        channels, height, width = self.shape
        places = self._offsets[rows] // (channels * height * width)
        store = self._flat.view(-1, height, width, channels)
        if self.device.type == "cpu":
            # NumPy uses one thread, so that other threads compute while images are read.
            images = torch.from_numpy(store.numpy()[places])
        else:
            images = store[torch.from_numpy(places).to(self.device, non_blocking=True)]
        # With one channel, the strides of a permuted tensor are ambiguous; those of a view are in
        # row order.
        return images.view(-1, *self.shape) if channels == 1 else images.permute(0, 3, 1, 2)

    def _check(self, rows: np.ndarray) -> None:
        new = np.unique(rows[~self._is_checked[rows]])
        if not len(new):
            return
        flat = self._flat.numpy()
        lengths = self._sizes[new].prod(axis=1) * self._channels
        for row, start, length in zip(new, self._offsets[new], lengths, strict=True):
            if zlib.crc32(flat[start : start + length]) != self._checksums[row]:
                why = f"the pixels of image {self._ids[row]} differ from their checksum"
                raise DamagedError(self.path, ValueError(why))
        self._is_checked[new] = True

    def _ragged(self, rows: np.ndarray) -> Ragged:
        offsets, sizes = self._offsets[rows], self._sizes[rows]
        if self.device.type != "cpu":
            return Ragged.packed(self._flat, offsets, sizes, self._channels)
        # Copied, so that the disk is read here and not in the middle of a transform.
        flat, lengths = self._flat.numpy(), sizes.prod(axis=1) * self._channels
        parts = [flat[start : start + n] for start, n in zip(offsets, lengths, strict=True)]
        read = torch.from_numpy(np.concatenate([flat[:0], *parts]))
        return Ragged.packed(read, np.cumsum(lengths) - lengths, sizes, self._channels)

    def _rows(self, ids: np.ndarray) -> np.ndarray:
        rows = np.searchsorted(self._ids, ids).clip(max=len(self._ids) - 1)
        absent = ids[self._ids[rows] != ids]
        if len(absent):
            raise UserError(f"{self.path}: no image has the id {absent[0]}")
        return rows

    def _map(self, table: Path) -> Tensor:
        with damage_is_named(self.path):
            flat = np.load(self.path, mmap_mode="r")
        expected = int(self._sizes.prod(axis=1).sum()) * self._channels
        if flat.dtype != np.uint8 or flat.shape != (expected,):
            raise UserError(
                f"{self.path}: expected {expected} uint8 pixels by {table.name}, found "
                f"{flat.dtype} {flat.shape}"
            )
        with warnings.catch_warnings():
            # Nothing here writes to pixels; batches are copies.
            warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
            return torch.from_numpy(flat.view(np.ndarray))
