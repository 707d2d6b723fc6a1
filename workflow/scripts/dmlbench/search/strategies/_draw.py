"""Drawing a trial's values by one of Optuna's samplers."""

from collections.abc import Mapping
from dataclasses import field

import optuna
from optuna.samplers import BaseSampler

from dmlbench.plan.catalogs.ranges import Parameter, Value
from dmlbench.search.distributions import Values, distribution_of
from dmlbench.training.seeds import derived_seed
from dmlbench.values import Part


class Drawn(Part):
    """A strategy that draws values by a sampler of Optuna.

    Attributes:
        parameters: place -> its values.
        seed: the search's; each trial's own seed is derived from it.
        search: digest of the search.
        own_draws: whether two searches over the same values draw different ones.
    """

    parameters: Mapping[str, Parameter] = field(kw_only=False)
    seed: int = field(kw_only=False)
    search: str = field(kw_only=False)

    def __post_init__(self):
        if self.own_draws:
            self.seed = derived_seed(self.seed, self.search)

    def sampler(self, seed: int) -> BaseSampler:
        """A sampler by its seed."""
        raise NotImplementedError

    def propose(self, study: optuna.Study) -> Values:
        """The next trial's values; the study is not changed."""
        trials = study.get_trials()
        sampler = self.sampler(derived_seed(self.seed, "search", len(trials)))
        # A copy in memory: a sampler writes its draws into the study.
        copy = optuna.create_study(direction="maximize", sampler=sampler)
        copy.add_trials(trials)
        kinds = {place: distribution_of(each) for place, each in self.parameters.items()}
        drawn = copy.ask(kinds).params
        return {place: _exact(drawn[place], each) for place, each in self.parameters.items()}


def _exact(value: Value, parameter: Parameter) -> Value:
    """A drawn value; on a grid the nearest value, which a sampler matches only up to rounding."""
    if parameter.step is None:
        return value
    return min(parameter.values, key=lambda other: abs(other - value))
