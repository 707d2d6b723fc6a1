"""SPC-n with replacement: classes and images drawn independently."""

import numpy as np

from dmlbench.samplers.spc import Spc


class SpcWithReplacement(Spc):
    """Batches of batch_size / n random classes with n random images each, all with replacement.

    A class may be drawn several times for a batch, and so may an image. The public code of roth2020
    draws so: of 112 images of 100 classes some 43 classes, not 56. `spc` draws distinct ones.
    Batches are independent; an epoch has N // batch_size batches, at least one.

    Args: as in `Spc`.
    """

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Image indices of a batch: int64 [classes, n]."""
        classes = rng.integers(len(self.by_class.classes), size=self.per_batch)
        return self.by_class.draw_with_replacement(rng, classes, self.images_per_class)
