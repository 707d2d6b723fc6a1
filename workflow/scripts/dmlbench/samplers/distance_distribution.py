"""DDM: the batch whose distances are distributed most like those of a pool."""

from typing import Annotated

import numpy as np

from dmlbench.samplers._embedded import EmbeddedSampler
from dmlbench.values import Added, Count

FORMERLY = {"distance_distribution_groups": {"group_size": ...}}


class DistanceDistribution(EmbeddedSampler):
    """Of m random batches of the pool, the one whose distance histogram is nearest to the pool's.

    Histograms of the Euclidean distances of all pairs, normalized to sum 1, over the pool's range
    of distances; nearness is the Wasserstein distance: roth2020, section 3.2. Pool, memory and
    first epoch: see `EmbeddedSampler`. The paper prints neither m nor the number of bins; m = 10
    is what the authors' public runs used.

    Args:
        pool_size: images b* of the pool, at least batch_size.
        group_size: images of a class that are drawn and chosen together; batch_size is a multiple
            of it. The text has single images, the authors' public code pairs, with a pool of 512.
        candidates: m.
        bins: bins of the histograms.
    """

    pool_size: Count = 1024
    group_size: Annotated[Count, Added()] = 1
    candidates: Count = 10
    bins: Count = 50

    def choose(self, rng: np.random.Generator, pool: np.ndarray) -> np.ndarray:
        groups = np.arange(pool.shape[0] * pool.shape[1]).reshape(pool.shape[:2])
        pool = pool.reshape(groups.size, -1)
        squared_norms = np.einsum("nd,nd->n", pool, pool)
        squared = squared_norms[:, None] + squared_norms - 2 * (pool @ pool.T)
        distance = np.sqrt(np.maximum(squared, 0))
        width = max(float(distance.max()) / self.bins, np.finfo(np.float32).tiny)
        bin_of = np.minimum((distance / width).astype(np.int64), self.bins - 1)
        np.fill_diagonal(bin_of, self.bins)  # an image's distance to itself is not counted

        target = self._histogram(bin_of)
        drawn = [
            rng.choice(len(groups), self.groups_per_batch, replace=False)
            for _ in range(self.candidates)
        ]
        batches = [groups[chosen].ravel() for chosen in drawn]
        errors = [
            wasserstein(self._histogram(bin_of[np.ix_(batch, batch)]), target) for batch in batches
        ]
        return drawn[int(np.argmin(errors))]

    def _histogram(self, bin_of: np.ndarray) -> np.ndarray:
        counts = np.bincount(bin_of.ravel(), minlength=self.bins + 1)[: self.bins]
        return counts / max(counts.sum(), 1)


def wasserstein(first: np.ndarray, second: np.ndarray) -> float:
    """Wasserstein-1 distance of two histograms [bins] that sum to 1, in bin widths."""
    return float(np.abs(np.cumsum(first - second)).sum())
