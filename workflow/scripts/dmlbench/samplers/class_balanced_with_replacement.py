"""P x K batches with replacement: all batches and images drawn independently."""

from collections.abc import Iterator, Sequence

import numpy as np

from dmlbench.samplers._checks import checked_labels, classes_per_batch
from dmlbench.samplers._classes import ImagesByClass
from dmlbench.values import Count


class ClassBalancedWithReplacement:
    """Batches of P = batch_size / K distinct classes, K images of each drawn with replacement.

    Batches are independent, so an image may occur several times in a batch and in an epoch, and
    another not at all. An epoch has N // batch_size batches, at least one.

    Args:
        images_per_class: K; batch_size is a multiple of it.
    """

    def __init__(
        self, labels: Sequence[int], batch_size: int, seed: int, *, images_per_class: Count = 5
    ):
        self.by_class = ImagesByClass(checked_labels(labels, batch_size, seed))
        self.per_batch = classes_per_batch(batch_size, images_per_class, len(self.by_class.classes))
        self.images_per_class = images_per_class
        self.batch_size = batch_size
        self.seed = seed

    def __len__(self) -> int:
        return max(len(self.by_class.images) // self.batch_size, 1)

    def epoch(self, number: int) -> Iterator[np.ndarray]:
        """The batches of one epoch: int64 [batch_size], the K images of a class adjacent."""
        rng = np.random.default_rng(np.random.SeedSequence([self.seed, number]))
        for _ in range(len(self)):
            classes = rng.choice(len(self.by_class.classes), self.per_batch, replace=False)
            yield self.by_class.draw_with_replacement(rng, classes, self.images_per_class).ravel()
