"""P x K batches without replacement: P classes of K images, no image twice in an epoch."""

from collections.abc import Iterator

import numpy as np

from dmlbench.samplers._checks import classes_per_batch
from dmlbench.samplers._of_labels import OfLabels
from dmlbench.values import Count


class ClassBalanced(OfLabels):
    """Batches of P = batch_size / K distinct classes with K images each.

    In each epoch, every class's images are shuffled and divided into groups of K; a batch takes one
    group of each of P classes, drawn in proportion to the groups they have left. No image occurs
    twice in an epoch, up to K - 1 images of a class wait for another epoch's shuffle, and a class
    of fewer than K images gives one group: all its images, repeated as evenly as possible.

    An epoch has T batches, the largest T with sum_c min(groups of c, T) >= P T, so that the
    batches never run out of distinct classes; with classes of similar size fewer than P groups are
    left over. Only the T P groups in batches are seen.

    Args:
        images_per_class: K; batch_size is a multiple of it.
    """

    images_per_class: Count = 5

    def __post_init__(self):
        super().__post_init__()
        each, classes = self.images_per_class, len(self.by_class.classes)
        self.per_batch = classes_per_batch(self.batch_size, each, classes)
        self.groups = np.maximum(self.by_class.sizes // each, 1)
        self.batches = _most_batches(self.groups, self.per_batch)

    def __len__(self) -> int:
        return self.batches

    def epoch(self, number: int) -> Iterator[np.ndarray]:
        """The batches of one epoch: int64 [batch_size], the K images of a class adjacent."""
        rng = np.random.default_rng(np.random.SeedSequence([self.seed, number]))
        deck = self.by_class.shuffled(rng)
        dealt = np.zeros_like(self.groups)
        for batches_left in range(self.batches, 0, -1):
            chosen = _draw_classes(rng, self.groups - dealt, self.per_batch, batches_left)
            positions = dealt[chosen, None] * self.images_per_class + np.arange(
                self.images_per_class
            )
            dealt[chosen] += 1
            sizes = self.by_class.sizes[chosen, None]
            yield deck[self.by_class.starts[chosen, None] + positions % sizes].ravel()


def _draw_classes(
    rng: np.random.Generator, groups_left: np.ndarray, count: int, batches_left: int
) -> np.ndarray:
    """Distinct classes, in proportion to their groups left; first those every batch must hold."""
    alive = np.flatnonzero(groups_left)
    left = groups_left[alive]
    # The largest values of log(weight) + Gumbel noise are a weighted draw without replacement.
    keys = np.log(left) + rng.gumbel(size=len(alive))
    keys[left >= batches_left] += 1e6
    largest = np.argpartition(-keys, count - 1)[:count]
    return alive[rng.permutation(largest)]


def _most_batches(groups: np.ndarray, per_batch: int) -> int:
    """The largest T with sum_c min(groups_c, T) >= per_batch * T (holds for all smaller T too)."""
    low, high = 1, int(groups.sum()) // per_batch
    while low < high:
        middle = (low + high + 1) // 2
        if np.minimum(groups, middle).sum() >= per_batch * middle:
            low = middle
        else:
            high = middle - 1
    return low
