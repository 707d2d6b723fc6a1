"""The defaults of a part's options, so that a spec names every value that it was made with."""

import functools

from dmlbench import registry
from dmlbench.plan.choices import Choice


def complete(choice: Choice) -> dict:
    """A choice as plain values with every option named, given or left at its default."""
    return with_defaults(type(choice), choice.model_dump())


def with_defaults(kind: type[Choice], values: dict | str) -> dict:
    """The plain values of a choice (or its name alone) with every option named.

    Raises:
        UserError: the room has no such part.
    """
    values = {"name": values} if isinstance(values, str) else values
    return {"name": values["name"]} | defaults(kind.room, values["name"]) | values


@functools.cache
def defaults(room: str, name: str) -> dict:
    """The default of each option of a part that has one."""
    return {
        key: list(option.default) if isinstance(option.default, tuple) else option.default
        for key, option in registry.options(room, name).items()
        if not option.required and not option.is_fact
    }
