"""A parameter's values as Optuna's distributions, and Optuna's values as those of the spec."""

from collections.abc import Mapping

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial

from dmlbench.plan.catalogs.ranges import Parameter, Value

Values = dict[str, Value]


def distribution_of(parameter: Parameter) -> BaseDistribution:
    """The distribution that a strategy draws a parameter's value from."""
    if parameter.choices is not None:
        return CategoricalDistribution(parameter.choices)
    if parameter.step is not None:
        values = parameter.values
        return FloatDistribution(values[0], values[-1], step=parameter.step)
    kind = IntDistribution if parameter.integer else FloatDistribution
    return kind(parameter.low, parameter.high, log=parameter.log)


def distribution_around(parameter: Parameter, value: Value) -> BaseDistribution:
    """A distribution that also contains this value: a coordinate search may start elsewhere."""
    if parameter.values is None or value in parameter.values:
        return distribution_of(parameter)
    if parameter.choices is not None:
        return CategoricalDistribution((*parameter.choices, value))
    return FloatDistribution(min(parameter.low, value), max(parameter.high, value))


def values_of(trial: FrozenTrial, parameters: Mapping[str, Parameter]) -> Values:
    """A trial's values by place; those of a grid exactly, integers as integers."""
    values = {}
    for place, parameter in parameters.items():
        value = trial.params[place]
        values[place] = next((other for other in parameter.values or () if other == value), value)
    return values
