"""Drawing a trial's values by one of Optuna's samplers."""

from collections.abc import Callable, Mapping

import optuna
from optuna.samplers import BaseSampler

from dmlbench.plan.ranges import Parameter, Value
from dmlbench.search.distributions import Values, distribution_of
from dmlbench.training.seeds import derived_seed


def drawn(
    study: optuna.Study,
    parameters: Mapping[str, Parameter],
    sampler_of: Callable[[int], BaseSampler],
    seed: int,
) -> Values:
    """The values of the study's next trial.

    Args:
        study: the trials so far; it is not changed.
        parameters: place -> its values.
        sampler_of: a sampler by its seed.
        seed: the search's; each trial's own seed is derived from it.
    """
    trials = study.get_trials()
    sampler = sampler_of(derived_seed(seed, "search", len(trials)))
    # A copy in memory: a sampler writes its draws into the study.
    copy = optuna.create_study(direction="maximize", sampler=sampler)
    copy.add_trials(trials)
    distributions = {place: distribution_of(parameters[place]) for place in parameters}
    trial = copy.ask(distributions)
    return {place: _exact(trial.params[place], parameters[place]) for place in parameters}


def _exact(value: Value, parameter: Parameter) -> Value:
    """A drawn value; on a grid the nearest value, which a sampler matches only up to rounding."""
    if parameter.step is None:
        return value
    return min(parameter.values, key=lambda other: abs(other - value))
