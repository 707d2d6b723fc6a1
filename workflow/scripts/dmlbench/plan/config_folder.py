"""The files of a configuration folder, each checked separately."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dmlbench.errors import UserError, check_known, located
from dmlbench.plan import paths
from dmlbench.plan.catalogues import Dataset, Network
from dmlbench.plan.choices import IDENTIFIER, Identifier
from dmlbench.plan.experiments import Experiment
from dmlbench.plan.measures import Measure
from dmlbench.plan.optima import with_optima
from dmlbench.plan.read import checked, read_mapping, read_yaml
from dmlbench.plan.recipes import Method, Recipe, built_on_bases
from dmlbench.plan.search_lists import expanded
from dmlbench.plan.searches import Search
from dmlbench.plan.studies import Study, built_on_base
from dmlbench.plan.variants import Variant

CATALOGUES = {
    "datasets": Dataset,
    "networks": Network,
    "methods": Method,
    "measures": Measure,
    "experiments": Experiment,
    "variants": Variant,
}
"""The files that map each id to its definition, and contain nothing else."""

SEARCHES = "searches.yaml"
"""The file of all searches, of which an entry can define several."""

RULES = frozenset(paths.RULES) | {"all", "data_all", "unknown_target"}
"""The rules of the workflow: a study is a rule too, and needs another name."""


def read_catalogues(folder: Path) -> dict[str, dict]:
    """The entries of every catalogue: its name -> id -> entry; raises as `read_yaml`."""
    return {
        catalogue: read_yaml(folder / f"{catalogue}.yaml", dict[Identifier, kind])
        for catalogue, kind in CATALOGUES.items()
    }


def read_recipes(folder: Path) -> dict[str, Recipe]:
    """The recipes, each merged into its base.

    Raises:
        UserError: as `read_yaml`, or a base that does not fit.
    """
    return _read_changed(folder / "recipes.yaml", built_on_bases, dict[Identifier, Recipe])


def read_searches(folder: Path) -> dict[str, Search]:
    """The searches, one for every run that an entry lists.

    Raises:
        UserError: as `read_yaml`, or names that do not fit.
    """
    return _read_changed(folder / SEARCHES, expanded, dict[Identifier, Search])


def read_study(folder: Path, study: str, variants: Mapping[str, Variant]) -> Study:
    """A study; its own variants take precedence over these.

    Raises:
        UserError: as `read_yaml`, a study whose name no target can have, or an unfitting base.
    """
    file = study_file(folder, study)
    if not re.fullmatch(IDENTIFIER, study):
        raise UserError(
            f"{file}: a study is a target by its file's name; allowed: a lower-case letter, "
            "then lower-case letters, digits and _"
        )
    if study in RULES:
        raise UserError(
            f"{file}: {study!r} is the name of a rule; allowed: all names but "
            f"{', '.join(sorted(RULES))}"
        )
    complete = checked(_with_base(folder, study), Study, where=str(file))
    own = with_optima(complete.variants, folder)
    return complete.model_copy(update={"variants": {**variants, **own}})


def _with_base(folder: Path, study: str, above: tuple[str, ...] = ()) -> Any:
    """A study as written, on its base as written."""
    file = study_file(folder, study)
    values = read_mapping(file)
    if not isinstance(values, dict) or "base" not in values:
        return values
    base = values["base"]
    check_known(f"{file}: base", "study", [base], study_files(folder))
    if base in (study, *above):
        raise UserError(f"{file}: base: {base} builds on {study}; allowed: a study that does not")
    below = _with_base(folder, base, (study, *above))
    checked(below, Study, where=str(study_file(folder, base)))
    return built_on_base(values, below)


def study_file(folder: Path, study: str) -> Path:
    """The file of a study."""
    return folder / "studies" / f"{study}.yaml"


def study_files(folder: Path) -> list[str]:
    """The studies that a configuration folder describes, by name.

    Raises:
        UserError: there is no file.
    """
    files = [file for file in (folder / "studies").glob("*.yaml") if file.name[0] != "."]
    if not files:
        raise UserError(f"{folder / 'studies'}: has no study; allowed: at least one file .yaml")
    return sorted(file.stem for file in files)


def with_alternatives(
    datasets: Mapping[str, Dataset], chosen: Mapping[str, str], *, where: str
) -> dict[str, Dataset]:
    """The data sets, some of them with alternative archives.

    Args:
        chosen: data set -> the alternative that is used.
        where: how an error message begins.

    Raises:
        UserError: an unknown data set or alternative.
    """
    entries = dict(datasets)
    check_known(where, "dataset", chosen, entries)
    for name, choice in chosen.items():
        entry = entries[name]
        check_known(f"{where}.{name}", f"alternative of {name}", [choice], entry.alternatives)
        used = {"archives": entry.alternatives[choice], "published": entry.archives}
        entries[name] = entry.model_copy(update=used)
    return entries


def _read_changed(path: Path, change: Callable[[Any], Any], kind):
    """A file as `kind`, after a change of its values."""
    values = read_mapping(path)
    with located(str(path)):
        values = change(values)
    return checked(values, kind, where=str(path))
