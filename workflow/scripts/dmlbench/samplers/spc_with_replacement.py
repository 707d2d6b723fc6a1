"""SPC-n with replacement: classes and images drawn independently."""

from collections.abc import Iterator, Sequence

import numpy as np

from dmlbench.samplers._checks import checked_labels, classes_per_batch
from dmlbench.samplers._classes import ImagesByClass
from dmlbench.values import Count


class SpcWithReplacement:
    """Batches of batch_size / n random classes with n random images each, all with replacement.

    A class may be drawn several times for a batch, and so may an image. The public code of roth2020
    draws so: of 112 images of 100 classes some 43 classes, not 56. `spc` draws distinct ones.
    Batches are independent; an epoch has N // batch_size batches, at least one.

    Args:
        images_per_class: n (2, 4 and 8 in roth2020); batch_size is a multiple of it.
    """

    def __init__(
        self, labels: Sequence[int], batch_size: int, seed: int, *, images_per_class: Count = 2
    ):
        self.by_class = ImagesByClass(checked_labels(labels, batch_size, seed))
        self.per_batch = classes_per_batch(batch_size, images_per_class, len(self.by_class.classes))
        self.images_per_class = images_per_class
        self.batch_size = batch_size
        self.seed = seed

    def __len__(self) -> int:
        return max(len(self.by_class.images) // self.batch_size, 1)

    def epoch(self, number: int) -> Iterator[np.ndarray]:
        """The batches of one epoch: int64 [batch_size], the n images of a draw adjacent."""
        rng = np.random.default_rng(np.random.SeedSequence([self.seed, number]))
        for _ in range(len(self)):
            classes = rng.integers(len(self.by_class.classes), size=self.per_batch)
            yield self.by_class.draw_with_replacement(rng, classes, self.images_per_class).ravel()
