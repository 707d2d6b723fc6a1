"""A choice in full, with all defaults, and the names that are made of choices."""

import functools
import hashlib
import json
from typing import Any

from dmlbench import registry
from dmlbench.plan.catalogs.choices import Choice
from dmlbench.plan.catalogs.identity import current, identified


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


def digest_of(values: Any, digits: int) -> str:
    """The first hexadecimal digits of plain values' SHA-256; the order of keys does not count."""
    text = json.dumps(values, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


def slug(choice: Choice) -> str:
    """A choice as part of a file name: its name and the values of its options, `fixed-0-0.1`.

    The version of its code follows if it was raised, `half-v2`, so that the file is made again.
    """
    options = identified(choice.package, choice.model_dump())
    name = options.pop("name")
    version = registry.version(choice.package, choice.name)
    raised = [f"v{version}"] if version > 1 else []
    return "-".join([name, *(str(value) for _, value in sorted(options.items())), *raised])
