"""PROFS: batches around one representative of each class, kept for M iterations."""

import math
from collections.abc import Iterator

import numpy as np

from dmlbench.samplers._batch import Batch
from dmlbench.samplers._checks import classes_per_batch
from dmlbench.samplers._of_labels import OfLabels
from dmlbench.values import Count, Positive


class Profs(OfLabels):
    """Batches of P = batch_size / I classes: each its representative and I - 1 random others.

    can2019, Algorithm 1 and section 5.4.1. Batch s of the training belongs to projection s // M,
    counted over epochs of `len(sampler)` batches each. Each projection has its own representative
    of every class, drawn without repetition until the class is exhausted. The classes of a batch
    are distinct and drawn independently for each batch. A class of fewer than I images gives all of
    them, repeated as evenly as possible. An epoch has N // batch_size batches, at least one.

    Algorithm 1 draws the representatives R' and the examples E of a batch one after the other and
    leaves open how they correspond. This follows section 5.4.1, "I samples from each class": the
    examples are the I - 1 others of the classes that R' represents, so that every representative
    has positives, and the other classes of the batch are its negatives.

    M = ceil(rho / p), with p = batch_size / (I L) the probability that a batch holds a class, so
    that a representative is used rho times on average.

    Attributes:
        representative_positions: int64 [P], the positions in every batch that hold
            representatives: 0, I, 2 I, ...
        iterations_per_projection: M.

    Args:
        images_per_class: I; batch_size is a multiple of it.
        rho: uses of a representative, > 0; ignored when M is given.
        iterations_per_projection: M itself, as in figure 2.
    """

    images_per_class: Count = 2
    rho: Positive = 6.0
    iterations_per_projection: Count | None = None

    def __post_init__(self):
        super().__post_init__()
        self.classes, each = len(self.by_class.classes), self.images_per_class
        self.per_batch = classes_per_batch(self.batch_size, each, self.classes)
        self.representative_positions = np.arange(0, self.batch_size, each)
        if self.iterations_per_projection is None:
            # rho / p, with whole numbers multiplied first: 6 * 2 * 100 / 128 has no rounding.
            mean = self.rho * each * self.classes / self.batch_size
            self.iterations_per_projection = math.ceil(mean)

    def __len__(self) -> int:
        return max(self.images // self.batch_size, 1)

    def epoch(self, number: int) -> Iterator[Batch]:
        """The batches of one epoch, the I images of a class adjacent."""
        representatives, current = None, None
        for position in range(len(self)):
            projection = self.projection(number, position)
            if projection != current:
                representatives, current = self.representatives(projection), projection
            rng = np.random.default_rng(np.random.SeedSequence([self.seed, number, position]))
            classes = self.choose_classes(rng)
            rows = self.by_class.draw(
                rng, classes, self.images_per_class, first=representatives[classes]
            )
            yield Batch(rows.ravel(), self.representative_positions, projection)

    def projection(self, number: int, position: int) -> int:
        """The projection that a batch of an epoch belongs to; theta_k is taken where it changes."""
        return (number * len(self) + position) // self.iterations_per_projection

    def representatives(self, projection: int) -> np.ndarray:
        """The image that represents each class (ascending labels) in a projection: int64 [L]."""
        cycles, places = np.divmod(projection, self.by_class.sizes)
        chosen = np.empty(self.classes, dtype=np.int64)
        for cycle in np.unique(cycles):
            entropy = np.random.SeedSequence([self.seed, int(cycle)], spawn_key=(0,))
            shuffled = self.by_class.shuffled(np.random.default_rng(entropy))
            here = cycles == cycle
            chosen[here] = shuffled[self.by_class.starts[here] + places[here]]
        return chosen

    def choose_classes(self, rng: np.random.Generator) -> np.ndarray:
        """Positions [P] of the classes of a batch: random ones."""
        return rng.choice(self.classes, self.per_batch, replace=False)
