"""The network's inputs from a training's examples."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from dmlbench.data.feed import AHEAD, Feed
from dmlbench.data.ragged import Ragged
from dmlbench.distributed import rank, size
from dmlbench.training.seeds import derived_seed


class Inputs(Protocol):
    """The examples of a training, batch by batch.

    Attributes:
        ids: int64 [N], names of the examples in messages.
    """

    ids: np.ndarray

    def batches(
        self, rows: Iterable[np.ndarray], generator: torch.Generator, ahead: bool
    ) -> Iterator[Tensor]:
        """The network's inputs of these examples, in order, on its device.

        Args:
            rows: int64 [B] for each batch.
            generator: of random transforms, used batch by batch as they are requested.
            ahead: whether `rows` may be read ahead of the requested batches.
        """


class ImageInputs:
    """Images of a store, cropped and jittered.

    Args:
        feed: the images.
        ids: int64 [N], image id of each example.
        transform: the training transforms.
    """

    def __init__(
        self,
        feed: Feed,
        ids: np.ndarray,
        transform: Callable[[Tensor | Ragged, torch.Generator], Tensor],
    ):
        self.feed, self.ids, self.transform = feed, ids, transform

    def batches(
        self, rows: Iterable[np.ndarray], generator: torch.Generator, ahead: bool
    ) -> Iterator[Tensor]:
        """float32 [B, C, H, W] each."""
        ids = (self.ids[batch] for batch in rows)
        for images in self.feed.batches(ids, AHEAD if ahead else 0):
            yield self.transform(images, _of_this_process(generator))


def _of_this_process(generator: torch.Generator) -> torch.Generator:
    """The generator itself, or a new one for each batch of each of several processes.

    The given one is in the same state in all of them, so one checkpoint fits all.
    """
    if size() == 1:
        return generator
    drawn = int(torch.randint(2**62, (), generator=generator))
    return torch.Generator().manual_seed(derived_seed(drawn, "process", rank()))
