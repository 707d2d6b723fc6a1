"""Drawing a trial's values by one of Optuna's samplers."""

from collections.abc import Callable, Mapping

import optuna
from optuna.samplers import BaseSampler

from dmlbench.plan.searches import Number, Parameter
from dmlbench.search.trials import Values, grid_of
from dmlbench.training.seeds import derived_seed


def drawn(
    study: optuna.Study,
    parameters: Mapping[str, Parameter],
    sampler_of: Callable[[int], BaseSampler],
    seed: int,
) -> Values:
    """The values of the study's next trial.

    Args:
        study: the trials so far; it stays as it is.
        parameters: place -> its values.
        sampler_of: a sampler by its seed.
        seed: the search's; each trial has one of its own that follows from it.
    """
    trials = study.get_trials()
    sampler = sampler_of(derived_seed(seed, "search", len(trials)))
    # A copy in memory: a sampler writes what it draws into the study.
    copy = optuna.create_study(direction="maximize", sampler=sampler)
    copy.add_trials(trials)
    trial = copy.ask({place: grid_of(parameter) for place, parameter in parameters.items()})
    return {
        place: _nearest(trial.params[place], parameter) for place, parameter in parameters.items()
    }


def _nearest(value: float, parameter: Parameter) -> Number:
    return min(parameter.values, key=lambda point: abs(point - value))
