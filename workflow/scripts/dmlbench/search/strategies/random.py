"""Values at random."""

from collections.abc import Mapping

import optuna
from optuna.samplers import RandomSampler

from dmlbench.plan.ranges import Parameter
from dmlbench.search.distributions import Values
from dmlbench.search.strategies._draw import drawn


class Random:
    """Every value with equal probability, independent of earlier trials.

    A range with `log` is drawn uniformly in the logarithm.

    Args:
        parameters: place -> its values.
        seed: of the draws.
    """

    def __init__(self, parameters: Mapping[str, Parameter], seed: int):
        self.parameters = parameters
        self.seed = seed

    def propose(self, study: optuna.Study) -> Values:
        """The next trial's values."""
        return drawn(study, self.parameters, lambda seed: RandomSampler(seed=seed), self.seed)
