"""The batches of a training, epoch by epoch."""

import itertools
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from dmlbench.distributed import rank, size
from dmlbench.samplers import Batch, LearnsFromEmbeddings, Sampler
from dmlbench.training.inputs import Inputs


class Batches:
    """A sampler's batches with the network's inputs, and their labels.

    Args:
        sampler: which examples make a batch.
        inputs: the examples.
        labels: int64 [N], the class of each, counted from 0 without gaps.
        device: where the network runs.
        per_epoch: batches of a training epoch; None for one pass of the sampler.
    """

    def __init__(
        self,
        sampler: Sampler,
        inputs: Inputs,
        labels: np.ndarray,
        device: torch.device,
        per_epoch: int | None = None,
    ):
        self.sampler, self.inputs, self.device = sampler, inputs, device
        self.labels = torch.from_numpy(labels).to(device)
        self.per_epoch = per_epoch or len(sampler)
        # Asked of each batch, which is slow of a protocol.
        self._learns = isinstance(sampler, LearnsFromEmbeddings)

    def epoch(
        self, number: int, generator: torch.Generator, done: int = 0
    ) -> Iterator[tuple[Batch, Tensor, Tensor]]:
        """The rest of a training epoch (counted from 1): batch, inputs and labels [B].

        Inputs are this process's share of the batch.

        A sampler that learns must be given a batch's embeddings before the next batch is taken.

        Args:
            generator: of random transforms.
            done: how many of the epoch's batches have been trained.
        """
        first = (number - 1) * self.per_epoch + done
        left = itertools.islice(stream(self.sampler, first), self.per_epoch - done)
        drawn, wanted = itertools.tee(left)
        rows = (share(batch.rows) for batch in wanted)
        # A sampler that learns from a batch cannot draw the next one earlier.
        inputs = self.inputs.batches(rows, generator, ahead=not self._learns)
        for batch, values in zip(drawn, inputs, strict=True):
            # Without blocking, so that the host does not wait for earlier steps.
            rows = torch.from_numpy(batch.rows).to(self.device, non_blocking=True)
            yield batch, values, self.labels[rows]

    def learn(self, batch: Batch, embeddings: Tensor) -> None:
        """Give a batch's embeddings [B, D] to a sampler that chooses by them."""
        if self._learns:
            self.sampler.update(batch.rows, embeddings.detach())

    def ids(self, batch: Batch) -> np.ndarray:
        """The names of the batch's examples in messages: [B]."""
        return self.inputs.ids[batch.rows]

    def state_dict(self) -> dict | None:
        """What the sampler has learned; None if it uses only labels."""
        return self.sampler.state_dict() if self._learns else None

    def load_state_dict(self, state: dict | None) -> None:
        """Continue from a checkpoint."""
        if self._learns:
            self.sampler.load_state_dict(state)


def share(rows: np.ndarray) -> np.ndarray:
    """The part of a batch that this process embeds: all of it, or as much as every other one."""
    return np.array_split(rows, size())[rank()]


def stream(sampler: Sampler, first: int = 0) -> Iterator[Batch]:
    """A sampler's batches, epoch after epoch without end, starting at a batch (counted from 0).

    Training epochs of any length are cut from it, so that each continues where the previous one
    ended, even after a restart.
    """
    number, offset = divmod(first, len(sampler))
    epochs = (sampler.epoch(number) for number in itertools.count(number))
    batches = itertools.islice(itertools.chain.from_iterable(epochs), offset, None)
    return (batch if isinstance(batch, Batch) else Batch(batch) for batch in batches)
