"""The batches that samplers yield."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np


class Batch(NamedTuple):
    """The examples of one iteration.

    Attributes:
        rows: int64 [B], indices of training examples.
        representatives: int64 [R], positions in the batch that hold class representatives; None if
            there are none.
        projection: number of the projection (can2019, Algorithm 1) that the batch belongs to; None
            if the sampler has no projections.
    """

    rows: np.ndarray
    representatives: np.ndarray | None = None
    projection: int | None = None


class Sampler(Protocol):
    """Which examples make a batch. Samplers without representatives yield plain arrays of rows."""

    def __len__(self) -> int:
        """Batches of an epoch."""

    def epoch(self, number: int) -> Iterator[np.ndarray | Batch]:
        """The batches of an epoch, counted from 0."""


@runtime_checkable
class LearnsFromEmbeddings(Protocol):
    """The base class of samplers that choose by the embeddings of earlier batches."""

    def update(self, indices: np.ndarray, embeddings) -> None:
        """Take the embeddings [B, D] of a batch's examples [B], after its forward pass."""

    def state_dict(self) -> dict:
        """Its memory, as tensors."""

    def load_state_dict(self, state: dict) -> None:
        """Restore a memory from `state_dict`."""
