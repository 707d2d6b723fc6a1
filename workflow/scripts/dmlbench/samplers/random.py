"""Random batches: every image at most once in an epoch."""

from collections.abc import Iterator

import numpy as np

from dmlbench.samplers._checks import batch_within
from dmlbench.samplers._of_labels import OfLabels


class Random(OfLabels):
    """Batches of a random order of all N images: N // batch_size batches, the rest left out.

    Each epoch is a new order, so that other images are left out each time.
    """

    def __post_init__(self):
        super().__post_init__()
        self.batch_size = batch_within(self.images, self.batch_size)

    def __len__(self) -> int:
        return self.images // self.batch_size

    def epoch(self, number: int) -> Iterator[np.ndarray]:
        """The batches of one epoch: int64 [batch_size] image indices each."""
        rng = np.random.default_rng(np.random.SeedSequence([self.seed, number]))
        order = rng.permutation(self.images)
        yield from order[: len(self) * self.batch_size].reshape(len(self), self.batch_size)
