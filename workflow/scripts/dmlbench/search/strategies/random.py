"""Values at random."""

from typing import Annotated

from optuna.samplers import RandomSampler

from dmlbench.search.strategies._draw import Drawn
from dmlbench.values import Added


class Random(Drawn):
    """Every value with equal probability, independent of earlier trials.

    A range with `log` is drawn uniformly in the logarithm.

    Args:
        own_draws: whether two searches over the same values draw different ones.
    """

    own_draws: Annotated[bool, Added()] = False

    def sampler(self, seed: int) -> RandomSampler:
        return RandomSampler(seed=seed)
