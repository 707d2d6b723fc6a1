"""Batches of images, or of their features, on the network's device, read ahead."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from dmlbench.data.features import Features
from dmlbench.data.pixels import Pixels
from dmlbench.data.ragged import Ragged

AHEAD = 3
"""How many batches are read before they are requested."""

RESIDENT = 0.4
"""The share of a job's memory on a GPU that the store may take; networks need the rest."""


class Feed:
    """The images of a store, batch by batch, on a device.

    On a GPU the whole store is copied there once if it takes no more than `RESIDENT` of the memory
    that is free and this job's; else each batch goes through pinned memory. On a CPU batches come
    from the memory map.

    Attributes:
        device: where batches are.
        features: numbers per image if the store holds features, else None.

    Args:
        pixels: the store.
        device: where the network runs.
        share: of a GPU's memory that is this job's, of those that share the GPU.
    """

    def __init__(self, pixels: Pixels | Features, device: torch.device, share: float = 1.0):
        self.device, self.features = torch.device(device), pixels.features
        self._pixels = pixels
        if self.device.type == "cuda" and pixels.bytes <= RESIDENT * _room(self.device, share):
            self._pixels = pixels.to(self.device)
        self._pinned = self.device.type == "cuda" and self._pixels is pixels

    def batches(self, ids: Iterable[np.ndarray], ahead: int = AHEAD) -> Iterator[Tensor | Ragged]:
        """The batches of these image ids, in order, read by a thread ahead of their use.

        `ids` is advanced by the caller's thread, `ahead` batches before they are due. The reading
        thread ends when the iterator is exhausted, closed or discarded. Features, which are in
        memory, are read when they are due.

        Args:
            ids: int64 [B] for each batch.
            ahead: 0 if `ids` depends on the processing of the previous batch.

        Yields:
            uint8 [B, C, H, W] if all images of the store are of one size, else a ragged batch;
            float32 [B, F] from a store of features.

        Raises:
            UserError: an id that is not in the store.
        """
        if self.features is not None:
            yield from (self._placed(self._read(wanted)) for wanted in ids)
            return
        reader = ThreadPoolExecutor(1, thread_name_prefix="feed")
        reading = deque()
        try:
            for wanted in ids:
                reading.append(reader.submit(self._read, wanted))
                if len(reading) > ahead:
                    yield self._placed(reading.popleft().result())
            while reading:
                yield self._placed(reading.popleft().result())
        finally:
            reader.shutdown(cancel_futures=True)

    def _read(self, ids: np.ndarray) -> Tensor | Ragged:
        batch = self._pixels.batch(ids)
        return batch.pin_memory() if self._pinned else batch

    def _placed(self, batch: Tensor | Ragged) -> Tensor | Ragged:
        return batch.to(self.device, non_blocking=True) if self._pinned else batch


def _room(device: torch.device, share: float) -> float:
    free, total = torch.cuda.mem_get_info(device)
    return min(free, share * total)
