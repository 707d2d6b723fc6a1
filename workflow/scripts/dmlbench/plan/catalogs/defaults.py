"""The defaults of a part's options, so that a spec names every value that it uses."""

import functools

from dmlbench import registry
from dmlbench.plan.catalogs.choices import Choice
from dmlbench.plan.catalogs.identity import current


def complete(choice: Choice) -> dict:
    """A choice as plain values, with every option explicit."""
    return with_defaults(type(choice), choice.model_dump())


def with_defaults(kind: type[Choice], values: dict | str) -> dict:
    """The plain values of a choice (or its name alone), with every option explicit.

    Raises:
        UserError: the package has no such part.
    """
    values = current(kind.package, {"name": values} if isinstance(values, str) else values)
    return {"name": values["name"]} | defaults(kind.package, values["name"]) | values


@functools.cache
def defaults(package: str, name: str) -> dict:
    """The default of each option of a part that has one."""
    return {
        key: list(option.default) if isinstance(option.default, tuple) else option.default
        for key, option in registry.options(package, name).items()
        if not option.required and not option.is_fact
    }
