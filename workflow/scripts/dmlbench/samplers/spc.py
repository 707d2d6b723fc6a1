"""SPC-n: n samples per class, batches independent of each other."""

from collections.abc import Iterator

import numpy as np

from dmlbench.samplers._checks import classes_per_batch
from dmlbench.samplers._of_labels import OfLabels
from dmlbench.values import Count


class Spc(OfLabels):
    """Batches of batch_size / n distinct random classes with n random images each.

    roth2020, section 3.2. Batches are independent: within a batch an image occurs once (a class
    of fewer than n images gives all of them, repeated as evenly as possible), within an epoch any
    number of times. An epoch has N // batch_size batches, at least one.

    Args:
        images_per_class: n (2, 4 and 8 in roth2020); batch_size is a multiple of it.
    """

    images_per_class: Count = 2

    def __post_init__(self):
        super().__post_init__()
        classes = len(self.by_class.classes)
        self.per_batch = classes_per_batch(self.batch_size, self.images_per_class, classes)

    def __len__(self) -> int:
        return max(self.images // self.batch_size, 1)

    def epoch(self, number: int) -> Iterator[np.ndarray]:
        """The batches of one epoch: int64 [batch_size], the n images of a class adjacent."""
        rng = np.random.default_rng(np.random.SeedSequence([self.seed, number]))
        for _ in range(len(self)):
            yield self.draw(rng).ravel()

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Image indices of a batch: int64 [classes, n]."""
        classes = rng.choice(len(self.by_class.classes), self.per_batch, replace=False)
        return self.by_class.draw(rng, classes, self.images_per_class)
