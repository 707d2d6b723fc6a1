"""P x K batches with replacement: all batches and images drawn independently."""

import numpy as np

from dmlbench.samplers.spc import Spc
from dmlbench.values import Count


class ClassBalancedWithReplacement(Spc):
    """Batches of P = batch_size / K distinct classes, K images of each drawn with replacement.

    Batches are independent, so an image may occur several times in a batch and in an epoch, and
    another not at all. An epoch has N // batch_size batches, at least one.

    Args:
        images_per_class: K; batch_size is a multiple of it.
    """

    images_per_class: Count = 5

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Image indices of a batch: int64 [P, K]."""
        classes = rng.choice(len(self.by_class.classes), self.per_batch, replace=False)
        return self.by_class.draw_with_replacement(rng, classes, self.images_per_class)
