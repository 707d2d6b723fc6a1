"""The spec of a row: recipe, method and network, then overrides, variant and search."""

from collections.abc import Iterator
from dataclasses import replace

from dmlbench.errors import UserError, check_known, located
from dmlbench.plan.catalogs import variants
from dmlbench.plan.catalogs.catalogues import Network
from dmlbench.plan.catalogs.choices import SplitRule
from dmlbench.plan.catalogs.places import merged
from dmlbench.plan.catalogs.read import checked
from dmlbench.plan.catalogs.recipes import Method, Recipe
from dmlbench.plan.catalogs.rows import Row
from dmlbench.plan.once import once
from dmlbench.plan.specs import rehearsal, searches
from dmlbench.plan.specs.spec import Spec, complete
from dmlbench.plan.specs.versions import versions


def spec_of(plan, row: Row) -> Spec:
    """The spec of a row's run in a plan.

    Raises:
        UserError: values that no training accepts; the message names the file and the row.
    """
    chosen = {"seed": row.seed, "fold": row.fold}
    if toy := plan.configuration.rehearsal:
        chosen = rehearsal.trained(toy, **chosen)
    return _shared(plan, _alike(plan, row)).model_copy(update=chosen)


def versions_of(plan, row: Row) -> dict[str, int]:
    """The versions of the code that computes a row's run, as in `versions`."""
    return _versions(plan, _alike(plan, row))


def _alike(plan, row: Row) -> Row:
    """A row that represents all seeds, so that thousands of seeds are checked once."""
    changes = [*plan.recipes[row.recipe].overrides]
    changes += [c for each in plan.variants_of(row.study).values() for c in each.overrides]
    if any(change.where.seed is not None for change in changes):
        return row
    return replace(row, seed=0)


@once
def _versions(plan, row: Row) -> dict[str, int]:
    return versions(_shared(plan, row).as_dict())


@once
def _shared(plan, row: Row) -> Spec:
    stages = dict(_stages(plan, row))
    try:
        return _completed(row, *list(stages.items())[-1])
    except UserError:
        # What was set first is to blame.
        for place, values in stages.items():
            _completed(row, place, values)
        raise


def _stages(plan, row: Row) -> Iterator[tuple[str, dict]]:
    """Each place in the configuration that sets values of a spec, with all values set by then."""
    recipe, toy = plan.recipes[row.recipe], plan.configuration.rehearsal
    values = _from_catalogues(
        row,
        dataset=rehearsal.TOY if toy else row.dataset,
        split=plan.datasets[row.dataset].splits[row.split],
        network=plan.networks[row.network],
        method=plan.methods[row.method],
        recipe=recipe,
    )
    place = own = f"{plan.entries.file('recipes', row.recipe)}: {row.recipe}"
    yield place, values
    for position, override in enumerate(recipe.overrides):
        if override.where.holds(row):
            values = merged(values, override.set)
            place = f"{own}.overrides.{position}"
            yield place, values
    named, variant = plan.variants_of(row.study), row.variant
    if toy:
        values |= {"sampler": toy.sampler.model_dump()}
        variant = variants.rehearsed(variant, named)
    values = variants.changed(values, variant, named, row)
    if toy:
        values = merged(values, toy.set)
    if row.variant:
        shared = variants.is_defined(row.variant, plan.variants, named)
        file = plan.folder / "variants.yaml" if shared else plan.file(row.study)
        place = f"{file}: variants: {row.variant}"
    if search := plan.search_of(row):
        check_known(f"{place}, for row {row.label}", "search", [search], plan.searches)
        values |= {"search": searches.identity_of(plan, search)}
    if plan.methods[row.method].loss is None:
        values = _without_training(values)
    yield place, values


def _from_catalogues(
    row, *, dataset: str, split: SplitRule, network: Network, method: Method, recipe: Recipe
) -> dict:
    """The values of a row's spec before overrides and variants: recipe, method and network."""
    shown = {"title", "sampling", "methods", "overrides", "base"}
    values = recipe.model_dump(exclude=shown)
    values |= {
        "dataset": dataset,
        "network": network.model_dump(
            exclude={"title": True, "threads": True, "weights": {"urls", "package", "bytes"}}
        ),
        "embedding_dim": row.embedding_dim,
        "loss": method.loss and method.loss.model_dump(),
        "miner": method.miner and method.miner.model_dump(),
        "regularizers": [regularizer.model_dump() for regularizer in method.regularizers],
        "sampler": recipe.sampling[method.sampling].model_dump(),
        "split": split.model_dump(),
        "fold": row.fold,
        "seed": row.seed,
        "search": None,
    }
    values = merged(values, method.set)
    return merged(values, recipe.methods.get(row.method, {}))


def _without_training(values: dict) -> dict:
    """The values of a spec whose network is scored untrained."""
    nothing = {"loss": None, "miner": None, "regularizers": [], "memory": None, "epoch_metrics": []}
    return values | nothing | {"epochs": 0, "warmup_epochs": 0}


def _on_features(values: dict) -> dict:
    """The values of a spec whose head learns from the features of a frozen backbone.

    What acts on images or on the backbone is left out, so that equal trainings have equal specs.
    """
    nothing = {"warmup_epochs": 0, "frozen_batchnorm": "none"}
    return values | nothing | {"transforms": {"train": [], "test": []}}


def _completed(row: Row, place: str, values: dict) -> Spec:
    """A spec from its values, every option of its parts explicit."""
    where = f"{place}, for row {row.label}"
    if values["network"]["frozen"] is not None:
        values = _on_features(values)
    with located(where):
        values = complete(values)
    return checked(values, Spec, where=where)
