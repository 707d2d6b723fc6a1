"""Ways of searching: one file each; a strategy proposes the next trial's values."""

from collections.abc import Mapping

from dmlbench import registry
from dmlbench.plan.ranges import Parameter, Value


def build_strategy(
    name: str,
    parameters: Mapping[str, Parameter],
    *,
    spec_values: Mapping[str, Value],
    seed: int,
    **hyperparameters,
):
    """Build a strategy by name.

    Args:
        parameters: place -> the values that are searched.
        spec_values: place -> the value of the run that is tuned.
        seed: of what a strategy draws.
        hyperparameters: the strategy's own.

    Raises:
        UserError: unknown name or hyper-parameter.
    """
    facts = {"parameters": parameters, "spec_values": spec_values, "seed": seed}
    return registry.build("search/strategies", name, context=facts, **hyperparameters)
