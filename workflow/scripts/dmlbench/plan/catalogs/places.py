"""Places in a spec's plain values: `loss.margin`, `optimizer.learning_rate`, `epochs`.

A list of parts chosen by name is entered by name: `regularizers.proximity.weight`.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import StringConstraints

Place = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*){0,2}$")]


def place_value(values: Any, place: str) -> Any:
    """The value at a place; None if there is none."""
    for key in place.split("."):
        if isinstance(values, list):
            values = next((part for part in values if part["name"] == key), None)
        else:
            values = values.get(key) if isinstance(values, Mapping) else None
    return values


def with_values(spec: dict, values: Mapping[str, Any]) -> dict:
    """A spec's plain values, updated with others (place -> value) in any order.

    A different `name` replaces the whole part, so names are set first.

    >>> spec = {"loss": {"name": "triplet", "margin": 0.2}, "epochs": 3}
    >>> with_values(spec, {"loss.scale": 2, "loss.name": "circle", "epochs": 4})
    {'loss': {'name': 'circle', 'scale': 2}, 'epochs': 4}
    """
    for place in sorted(values, key=lambda place: "." in place and not place.endswith(".name")):
        spec = _placed(spec, place.split("."), values[place])
    return spec


def merged(values: dict, changes: dict) -> dict:
    """`values` updated by `changes`, key by key; a different `name` replaces the whole choice.

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
    if key == "name" and (node or {}).get("name") != value:
        return {"name": value}
    if isinstance(node, list):
        if key not in [part["name"] for part in node]:
            node = [*node, {"name": key}]
        return [_placed(part, rest, value) if part["name"] == key else part for part in node]
    return merged(node or {}, {key: _placed((node or {}).get(key), rest, value)})
