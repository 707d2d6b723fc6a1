"""Published best values of hyper-parameters, as changes of the specs that they belong to."""

import csv
from collections.abc import Mapping
from pathlib import Path

from dmlbench.errors import UserError
from dmlbench.plan.catalogs.places import with_values
from dmlbench.plan.catalogs.variants import Change, Variant, read_value
from dmlbench.plan.catalogs.where import Where

COLUMNS = ("method", "place", "optimal_value")


def with_optima(variants: Mapping[str, Variant], folder: Path) -> dict[str, Variant]:
    """Variants, those with `optima` with the changes that their files hold.

    Args:
        folder: of the configuration.

    Raises:
        UserError: a file is missing, or lacks a column.
    """
    return {
        name: variant.model_copy(update={"overrides": _changes(variant.optima, folder)})
        if variant.optima
        else variant
        for name, variant in variants.items()
    }


def _changes(files: Mapping[str, str], folder: Path) -> list[Change]:
    """A change for each data set and method."""
    values: dict[tuple[str, str], dict] = {}
    for dataset, name in files.items():
        for row in _rows(folder / "reference" / name):
            of_method = values.setdefault((dataset, row["method"]), {})
            of_method[row["place"]] = read_value(row["optimal_value"])
    return [
        Change(where=Where(dataset=dataset, method=method), set=with_values({}, places))
        for (dataset, method), places in values.items()
    ]


def _rows(file: Path) -> list[dict[str, str]]:
    try:
        with file.open(newline="", encoding="utf-8") as lines:
            reader = csv.DictReader(lines)
            rows = list(reader)
    except FileNotFoundError:
        raise UserError(f"{file}: is missing; a variant names it in optima") from None
    missing = [column for column in COLUMNS if column not in (reader.fieldnames or ())]
    if missing:
        raise UserError(f"{file}: no column {missing[0]}; allowed: {', '.join(COLUMNS)} and others")
    return rows
