"""GC: the batch that covers a pool best, point by point."""

from typing import Annotated

import numpy as np

from dmlbench.samplers._embedded import EmbeddedSampler
from dmlbench.values import Added, Count

FORMERLY = {"greedy_coreset_groups": {"group_size": ...}}


class GreedyCoreset(EmbeddedSampler):
    """Starting from a random image of the pool, always adds the one farthest from those chosen.

    min over B of max over x* in B* of min over x in B of d(x, x*), solved greedily, with d the
    Euclidean distance of embeddings: roth2020, section 3.2. Pool, memory and first epoch: see
    `EmbeddedSampler`. (The authors' public code maps the chosen images through another random
    pool, which makes its batches random; not followed.)

    Args:
        pool_size: images b* of the pool, at least batch_size.
        group_size: images of a class that are drawn and chosen together; batch_size is a multiple
            of it. The text has single images, the authors' public code pairs, with a pool of 512.
            The first image of a group stands for it.
    """

    pool_size: Count = 1024
    group_size: Annotated[Count, Added()] = 1

    def choose(self, rng: np.random.Generator, pool: np.ndarray) -> np.ndarray:
        pool = pool[:, 0]
        squared_norms = np.einsum("nd,nd->n", pool, pool)
        chosen = np.empty(self.groups_per_batch, dtype=np.int64)
        chosen[0] = 0  # the pool's order is random
        nearest = np.full(len(pool), np.inf)
        for step in range(1, self.groups_per_batch):
            latest = chosen[step - 1]
            distance = squared_norms + squared_norms[latest] - 2 * (pool @ pool[latest])
            nearest = np.minimum(nearest, distance)
            nearest[latest] = -np.inf
            chosen[step] = np.argmax(nearest)
        return chosen
