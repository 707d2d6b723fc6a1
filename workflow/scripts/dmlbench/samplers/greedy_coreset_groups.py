"""GC of groups: the coreset of images that each bring others of their class."""

from collections.abc import Sequence

from dmlbench.samplers.greedy_coreset import GreedyCoreset
from dmlbench.values import Count


class GreedyCoresetGroups(GreedyCoreset):
    """`greedy_coreset` whose pool and batches are made of groups of n images of a class.

    As the public code of roth2020 has them, with n = 2 and a pool of 512; see `EmbeddedSampler`.

    The first image of a group stands for it: a batch of batch_size / n groups covers the pool best.

    Args: as in `GreedyCoreset`, and
        group_size: n; batch_size is a multiple of it.
    """

    def __init__(
        self,
        labels: Sequence[int],
        batch_size: int,
        seed: int,
        *,
        pool_size: Count = 1024,
        group_size: Count = 2,
    ):
        super().__init__(labels, batch_size, seed, pool_size=pool_size)
        self.group(group_size)
