"""What the samplers that distill a large pool of embedded images into a batch have in common."""

from collections.abc import Iterator, Sequence

import numpy as np

from dmlbench.errors import UserError
from dmlbench.samplers._batch import LearnsFromEmbeddings
from dmlbench.samplers._checks import batch_within, checked_labels, positive_integer
from dmlbench.samplers._memory import EmbeddingMemory


class EmbeddedSampler(LearnsFromEmbeddings):
    """Batches chosen by embedding from a random pool of images: roth2020, section 3.2.

    Each batch draws a pool of `pool_size` images (or all, when there are fewer) from the memory
    and leaves the choice among them to `choose`. The training calls `update` after each batch.
    As long as the memory lacks images, batches are random ones of those it lacks: the first
    epoch, unless the training embeds all images beforehand and hands them to `update`. An epoch
    has N // batch_size batches, without a promise of coverage.

    A batch is a function of labels, hyper-parameters, seed, epoch, its position in the epoch, and
    the memory at the moment it is asked for; asking changes nothing.
    """

    def __init__(self, labels: Sequence[int], batch_size: int, seed: int, pool_size: int):
        self.images = len(checked_labels(labels, batch_size, seed))
        self.batch_size = batch_within(self.images, batch_size)
        self.pool_size = min(positive_integer("pool_size", pool_size), self.images)
        self.seed = seed
        self.memory = EmbeddingMemory(self.images)
        if pool_size < batch_size:
            raise UserError(f"pool_size = {pool_size}; allowed: at least {batch_size = }")

    def __len__(self) -> int:
        return self.images // self.batch_size

    def epoch(self, number: int) -> Iterator[np.ndarray]:
        """The batches of one epoch: int64 [batch_size] distinct image indices each."""
        for position in range(len(self)):
            rng = np.random.default_rng(np.random.SeedSequence([self.seed, number, position]))
            yield self._batch(rng)

    def update(self, indices, embeddings) -> None:
        """Store the embeddings [B, D] of a batch's images [B]."""
        self.memory.update(indices, embeddings)

    def state_dict(self) -> dict:
        return self.memory.state_dict()

    def load_state_dict(self, state: dict) -> None:
        self.memory.load_state_dict(state)

    def choose(self, rng: np.random.Generator, pool: np.ndarray) -> np.ndarray:
        """Positions [batch_size] of the chosen among the pool's embeddings [pool_size, D]."""
        raise NotImplementedError

    def _batch(self, rng: np.random.Generator) -> np.ndarray:
        order = rng.permutation(self.images)
        if not self.memory.known.all():
            unknown_first = np.argsort(self.memory.known[order], kind="stable")
            return order[unknown_first[: self.batch_size]]
        pool = order[: self.pool_size]
        return pool[self.choose(rng, self.memory.embeddings[pool])]
