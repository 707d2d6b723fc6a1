"""Values at random."""

from collections.abc import Mapping

import optuna
from optuna.samplers import RandomSampler

from dmlbench.plan.searches import Parameter
from dmlbench.search.strategies._draw import drawn
from dmlbench.search.trials import Values


class Random:
    """Every value of every parameter with equal chances, whatever the trials before gave.

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
