"""Values at random."""

from collections.abc import Mapping
from typing import Annotated

from optuna.samplers import RandomSampler

from dmlbench.plan.catalogs.ranges import Parameter
from dmlbench.search.strategies._draw import Drawn
from dmlbench.values import Added


class Random(Drawn):
    """Every value with equal probability, independent of earlier trials.

    A range with `log` is drawn uniformly in the logarithm.

    Args:
        parameters: place -> its values.
        seed: of the draws.
        search: digest of the search.
        own_draws: whether two searches over the same values draw different ones.
    """

    def __init__(
        self,
        parameters: Mapping[str, Parameter],
        seed: int,
        search: str,
        *,
        own_draws: Annotated[bool, Added()] = False,
    ):
        super().__init__(parameters, seed, search, own_draws, lambda seed: RandomSampler(seed=seed))
