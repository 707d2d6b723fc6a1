"""What a sampler hands to the training."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np


class Batch(NamedTuple):
    """The examples of one iteration.

    Attributes:
        rows: int64 [B], indices of training examples.
        representatives: int64 [R], positions in the batch that hold class representatives; None
            where no example is special.
        projection: number of the projection (can2019, Algorithm 1) that the batch belongs to;
            None where the sampler has no projections.
    """

    rows: np.ndarray
    representatives: np.ndarray | None = None
    projection: int | None = None


class Sampler(Protocol):
    """Which examples make a batch: one that only draws rows yields them as they are."""

    def __len__(self) -> int:
        """Batches of an epoch."""

    def epoch(self, number: int) -> Iterator[np.ndarray | Batch]:
        """The batches of an epoch, counted from 0."""


@runtime_checkable
class LearnsFromEmbeddings(Protocol):
    """A sampler that chooses by the embeddings of earlier batches says so by this base class."""

    def update(self, indices: np.ndarray, embeddings) -> None:
        """Take the embeddings [B, D] of a batch's examples [B], after its forward pass."""

    def state_dict(self) -> dict:
        """What it remembers, as tensors."""

    def load_state_dict(self, state: dict) -> None:
        """Remember what `state_dict` gave."""
