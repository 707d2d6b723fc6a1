"""Shared code of samplers that distill a large pool of embedded images into a batch."""

from collections.abc import Iterator

import numpy as np

from dmlbench.errors import UserError
from dmlbench.samplers._batch import LearnsFromEmbeddings
from dmlbench.samplers._checks import batch_within
from dmlbench.samplers._memory import EmbeddingMemory
from dmlbench.samplers._of_labels import OfLabels


class EmbeddedSampler(OfLabels, LearnsFromEmbeddings):
    """Batches chosen by embedding from a random pool of images: roth2020, section 3.2.

    Each batch draws a pool of `pool_size` images (or all, if there are fewer) from the memory and
    leaves the choice among them to `choose`. The training calls `update` after each batch. While
    the memory is incomplete, batches are drawn at random from the missing images: the first epoch,
    unless the training embeds all images beforehand and passes them to `update`. An epoch has N //
    batch_size batches; coverage is not guaranteed.

    The text draws single images, few of which share a class where there are many classes; the
    public code draws and chooses n images of a class together: `group_size`. A class has as many
    groups as n images fit; the other images wait for another draw.

    A batch is a function of labels, hyper-parameters, seed, epoch, its position in the epoch, and
    the memory at the moment it is requested; requesting it has no side effects.

    Args:
        pool_size: images of the pool, at least batch_size.
        group_size: n; batch_size is a multiple of it.

    Raises:
        UserError: a pool smaller than a batch, or groups that do not fill a batch.
    """

    pool_size: int
    group_size: int

    def __post_init__(self):
        super().__post_init__()
        batch_size, group_size = batch_within(self.images, self.batch_size), self.group_size
        if self.pool_size < batch_size:
            raise UserError(f"pool_size = {self.pool_size}; allowed: at least {batch_size = }")
        self.pool_size = min(self.pool_size, self.images)
        self.memory = EmbeddingMemory(self.images)
        groups = int((self.by_class.sizes // group_size).sum())
        if batch_size % group_size or self.groups_per_batch > groups:
            raise UserError(
                f"batch_size = {batch_size} with {group_size = }; allowed: a multiple of it, "
                f"of at most the {groups} groups of a class that there are"
            )

    def __len__(self) -> int:
        return self.images // self.batch_size

    @property
    def groups_per_batch(self) -> int:
        """How many groups make a batch."""
        return self.batch_size // self.group_size

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
        """Positions [groups_per_batch] of the chosen groups of a pool [groups, group_size, D]."""
        raise NotImplementedError

    def _batch(self, rng: np.random.Generator) -> np.ndarray:
        groups = self._groups(rng)
        if not self.memory.known.all():
            lacking = (~self.memory.known[groups]).sum(axis=1)
            lacking_first = np.argsort(-lacking, kind="stable")
            return groups[lacking_first[: self.groups_per_batch]].ravel()
        pool = groups[: self.pool_size // self.group_size]
        return pool[self.choose(rng, self.memory.embeddings[pool])].ravel()

    def _groups(self, rng: np.random.Generator) -> np.ndarray:
        """Images of a class in groups, each image in at most one, in random order."""
        if self.group_size == 1:
            return rng.permutation(self.images)[:, None]
        deck, sizes = self.by_class.shuffled(rng), self.by_class.sizes
        place_in_class = np.arange(self.images) - np.repeat(self.by_class.starts, sizes)
        dealt = place_in_class < np.repeat(sizes - sizes % self.group_size, sizes)
        return rng.permutation(deck[dealt].reshape(-1, self.group_size))
