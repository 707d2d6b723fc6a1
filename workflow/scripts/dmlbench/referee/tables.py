"""A referee's tables as kinds, whose columns and texts are in tables.yaml."""

from pathlib import Path

import yaml

from dmlbench.presentation.kind import Kind
from dmlbench.statistics.equivalence import (
    Difference,
    detectable_difference,
    half_interval,
    p_value_of,
)

_TABLES = yaml.safe_load(Path(__file__).with_name("tables.yaml").read_text(encoding="utf-8"))


def kind_of(table: str, title: str, *, id: str = "") -> Kind:
    """A table of tables.yaml, with its title.

    Args:
        id: that of the table, if it is not its name there.
    """
    return Kind(id=id or table, title=title, **_TABLES[table])


def tested(difference: Difference) -> dict[str, float]:
    """A difference, its 95 % interval, the p-value that there is none, and what could be seen."""
    half = half_interval(difference)
    return {
        "difference": float(difference.value),
        "low": float(difference.value - half),
        "high": float(difference.value + half),
        "p": p_value_of(difference),
        "detectable": float(detectable_difference(difference.error, difference.freedom)),
    }
