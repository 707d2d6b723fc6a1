"""The rows of a grid of a study, by the names of the catalogues."""

import itertools

from dmlbench.errors import check_known, located
from dmlbench.plan.catalogs import variants
from dmlbench.plan.catalogs.rows import COORDINATES, Row
from dmlbench.plan.specs.fitting import check_folds
from dmlbench.plan.studies.studies import Grid


def listed(plan, grid: Grid, study: str, where: str) -> list[Row]:
    """The rows of a grid.

    Raises:
        UserError: a name is not in its catalogue; `where` is its location.
    """
    for key in ("dataset", "network", "method", "recipe"):
        check_known(f"{where}.{key}", key, getattr(grid, key), getattr(plan, f"{key}s"))
    for dataset, split in itertools.product(grid.dataset, grid.split):
        splits = plan.datasets[dataset].splits
        check_known(f"{where}.split", f"split of {dataset}", [split], splits)
        with located(f"{where}.fold"):
            check_folds(splits[split].name, grid.fold)
    for recipe, method in itertools.product(grid.recipe, grid.method):
        what, sampling = f"sampling of method {method}", plan.methods[method].sampling
        samplings = plan.recipes[recipe].sampling
        check_known(f"{where}.recipe: {recipe} lacks it", what, [sampling], samplings)
    with located(f"{where}.variant"):
        named = variants.expand(grid.variant, plan.variants_of(study))
    listed = dict(grid) | {"variant": named, "fold": grid.fold or [None]}
    values = itertools.product(*(listed[coordinate] for coordinate in COORDINATES))
    return [Row(study, *value) for value in values]
