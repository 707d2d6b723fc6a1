"""SPC-R: random batches that hold at least one positive pair."""

from collections.abc import Iterator

import numpy as np

from dmlbench.errors import UserError
from dmlbench.samplers._checks import batch_within
from dmlbench.samplers._of_labels import OfLabels


class SpcR(OfLabels):
    """batch_size - 1 random images, and last another image of one of their classes.

    roth2020, section 3.2: the number of classes in a batch varies, and at least one triplet can be
    mined. No image occurs twice in a batch; batches are independent. A draw of batch_size - 1
    images is repeated if no other image of their classes is left. An epoch has N // batch_size
    batches.

    Raises:
        UserError: no class has two images, or batch_size < 2.
    """

    def __post_init__(self):
        super().__post_init__()
        self.batch_size = batch_within(self.images, self.batch_size)
        if self.batch_size < 2:
            raise UserError(
                f"batch_size = {self.batch_size}; allowed: at least 2, for a positive pair"
            )
        if self.by_class.sizes.max() < 2:
            raise UserError("labels give every class one image; allowed: a class of two or more")

    def __len__(self) -> int:
        return self.images // self.batch_size

    def epoch(self, number: int) -> Iterator[np.ndarray]:
        """The batches of one epoch: int64 [batch_size], the added positive last."""
        rng = np.random.default_rng(np.random.SeedSequence([self.seed, number]))
        for _ in range(len(self)):
            yield self._batch(rng)

    def _batch(self, rng: np.random.Generator) -> np.ndarray:
        while True:
            drawn = rng.choice(self.images, self.batch_size - 1, replace=False)
            classes = self.by_class.class_of[drawn]
            left = self.by_class.sizes - np.bincount(classes, minlength=len(self.by_class.sizes))
            anchors = classes[left[classes] > 0]
            if len(anchors):
                start = self.by_class.starts[chosen := rng.choice(anchors)]
                mates = self.by_class.images[start : start + self.by_class.sizes[chosen]]
                return np.append(drawn, rng.choice(np.setdiff1d(mates, drawn)))
