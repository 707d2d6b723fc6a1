"""What digests and folders contain of a part and its options, so that new options change none.

An option that is marked as `Added` and has its default is left out. A choice that was a part of
its own once has that part's name and options: the constant FORMERLY of a part's file lists the
earlier parts, each with the options that replace it,

    FORMERLY = {"margin_fixed_beta": {"learned": False}}

with `...` for any value but the default, of an option that the earlier part had as well.
"""

import functools
from collections.abc import Mapping
from typing import Any

from dmlbench import registry
from dmlbench.errors import UserError


def identified(package: str, choice: Mapping[str, Any]) -> dict[str, Any]:
    """A part's name and options as digests and folders contain them.

    Args:
        choice: `name`, and plain values of options; a missing option has its default.
    """
    declared = registry.options(package, choice["name"])
    given = {
        key: value
        for key, value in choice.items()
        if key == "name" or not (declared[key].is_added and _same(value, declared[key].default))
    }
    for earlier, replaced in _formerly(package, choice["name"]).items():
        if all(key in given and value in (given[key], ...) for key, value in replaced.items()):
            fixed = [key for key, value in replaced.items() if value is not ...]
            kept = {key: value for key, value in given.items() if key not in fixed}
            return kept | {"name": earlier}
    return given


def current(package: str, choice: dict[str, Any]) -> dict[str, Any]:
    """The inverse of `identified`: an earlier part's name and options as today's part has them.

    Raises:
        UserError: an option of the earlier part is missing, whose default may have been another.
    """
    earlier = choice["name"]
    if earlier in registry.available(package) or earlier not in _successors(package):
        return choice
    part = _successors(package)[earlier]
    replaced = _formerly(package, part)[earlier]
    fixed = {key: value for key, value in replaced.items() if value is not ...}
    successor = fixed | choice | {"name": part}
    for key, option in registry.options(package, part).items():
        if key not in successor and (key in replaced or not (option.is_added or option.is_fact)):
            now = ", ".join(f"{key}: {value}" for key, value in replaced.items())
            raise UserError(
                f"{package}/{earlier}: is now {part} with {now}; allowed: {part}, or {earlier} "
                f"with a value of each of its options, of which {key} is missing"
            )
    return successor


def _same(*values: Any) -> bool:
    """Whether two values are equal; a list is given where the default is a tuple."""
    first, second = (list(value) if isinstance(value, tuple) else value for value in values)
    return first == second


def _formerly(package: str, name: str) -> dict[str, dict[str, Any]]:
    """The earlier parts that a part replaces, each with the options that replace it."""
    return registry.constant(package, name, "FORMERLY") or {}


@functools.cache
def _successors(package: str) -> dict[str, str]:
    """Earlier part -> the part that replaces it."""
    parts = registry.available(package)
    return {earlier: part for part in parts for earlier in _formerly(package, part)}
