"""Places in a spec's plain values: `loss.margin`, `optimizer.learning_rate`, `epochs`.

A list of parts chosen by name is entered by name: `regularizers.proximity.weight`.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import StringConstraints

Place = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*){0,2}$")]


def place_value(values: Any, place: str) -> Any:
    """What stands at a place; none where nothing does."""
    for key in place.split("."):
        if isinstance(values, list):
            values = next((part for part in values if part["name"] == key), None)
        else:
            values = values.get(key) if isinstance(values, Mapping) else None
    return values


def with_values(spec: dict, values: Mapping[str, Any]) -> dict:
    """A spec's plain values with others (place -> value) laid over them.

    >>> with_values({"loss": {"name": "margin"}, "epochs": 3}, {"loss.beta": 0.6, "epochs": 5})
    {'loss': {'name': 'margin', 'beta': 0.6}, 'epochs': 5}
    """
    for place, value in values.items():
        spec = _placed(spec, place.split("."), value)
    return spec


def merged(values: dict, changes: dict) -> dict:
    """`values` with `changes` laid over it, key by key; another `name` replaces the whole choice.

    >>> merged({"loss": {"name": "margin", "beta": 1.2}}, {"loss": {"beta": 0.6}})
    {'loss': {'name': 'margin', 'beta': 0.6}}
    """

    def laid_over(old: Any, new: Any) -> Any:
        if not (isinstance(old, dict) and isinstance(new, dict)):
            return new
        if "name" in new and new["name"] != old.get("name"):
            return new
        return merged(old, new)

    return values | {key: laid_over(values.get(key), change) for key, change in changes.items()}


def _placed(node: Any, keys: list[str], value: Any) -> Any:
    if not keys:
        return value
    key, *rest = keys
    if isinstance(node, list):
        if key not in _names(node):
            node = [*node, {"name": key}]
        return [_placed(part, rest, value) if part["name"] == key else part for part in node]
    node = dict(node or {})
    return node | {key: _placed(node.get(key), rest, value)}


def _names(parts: Iterable[Mapping]) -> list[str]:
    return [part["name"] for part in parts]
