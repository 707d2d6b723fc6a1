"""DDM of groups: candidate batches hold several images of each class."""

from collections.abc import Sequence

from dmlbench.samplers.distance_distribution import DistanceDistribution
from dmlbench.values import Count


class DistanceDistributionGroups(DistanceDistribution):
    """`distance_distribution` whose pool and batches are made of groups of n images of a class.

    As the public code of roth2020 has them, with n = 2 and a pool of 512; see `EmbeddedSampler`.

    Args: as in `DistanceDistribution`, and
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
        candidates: Count = 10,
        bins: Count = 50,
    ):
        super().__init__(
            labels, batch_size, seed, pool_size=pool_size, candidates=candidates, bins=bins
        )
        self.group(group_size)
