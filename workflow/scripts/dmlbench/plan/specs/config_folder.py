"""The files of a configuration folder and of the user's own, each checked separately.

A folder of one's own has the same files as `config/`, as many of them as it needs; its entries are
added to those of the configuration. An error in it leaves out what is in this folder, and no more.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dmlbench.errors import UserError, check_known, located
from dmlbench.plan import paths
from dmlbench.plan.catalogs.catalogues import Dataset, Network
from dmlbench.plan.catalogs.choices import IDENTIFIER, Identifier
from dmlbench.plan.catalogs.experiments import Experiment
from dmlbench.plan.catalogs.measures import Measure
from dmlbench.plan.catalogs.read import checked, read_mapping
from dmlbench.plan.catalogs.recipes import Method, Recipe, built_on_bases
from dmlbench.plan.catalogs.search_lists import expanded
from dmlbench.plan.catalogs.variants import Variant
from dmlbench.plan.specs.searches import Search
from dmlbench.plan.studies.optima import with_optima
from dmlbench.plan.studies.studies import Study, built_on_base

CATALOGUES = {
    "datasets": Dataset,
    "networks": Network,
    "methods": Method,
    "measures": Measure,
    "experiments": Experiment,
    "variants": Variant,
}
"""The files that map each id to its definition, and contain nothing else."""

_KINDS = CATALOGUES | {"searches": Search, "recipes": Recipe}
"""Also those of searches, each of which an entry may list, and of recipes, which have bases."""

RULES = frozenset(paths.RULES) | {"all", "data_all", "unknown_target"}
"""The rules of the workflow: a study is a rule too, and needs another name."""


class Entries:
    """The entries of all catalogues, of a configuration folder and of the user's own.

    Attributes:
        catalogues: catalogue -> id -> entry; those of `CATALOGUES`, `recipes`, each merged into
            its base, and `searches`, one for every run that an entry lists.

    Args:
        folder: the configuration folder.

    Raises:
        UserError: as `read_yaml`, or a base that does not fit.
    """

    def __init__(self, folder: Path):
        self.catalogues: dict[str, dict] = {catalogue: {} for catalogue in _KINDS}
        self._folder: dict[tuple[str, str], Path] = {}
        self._written: dict[str, Any] = {}
        self._add(folder, _KINDS)

    def add(self, own: Path) -> None:
        """Add those of a folder of the user, or nothing of it.

        Raises:
            UserError: as above; an entry that is there already.
        """
        self._add(own, [each for each in _KINDS if (own / f"{each}.yaml").exists()])

    def _add(self, folder: Path, catalogues: Iterable[str]) -> None:
        added, written = {}, self._written
        for catalogue in catalogues:
            path = folder / f"{catalogue}.yaml"
            values = read_mapping(path)
            with located(str(path)):
                if catalogue == "searches":
                    values = expanded(values)
                for name in values if isinstance(values, dict) else ():
                    self._check_new(catalogue, name)
                if catalogue == "recipes" and isinstance(values, dict):
                    # Their bases may be in folders that were read before.
                    written = self._written | values
                    complete = built_on_bases(written)
                    values = {name: complete[name] for name in values}
            kind = dict[Identifier, _KINDS[catalogue]]
            added[catalogue] = checked(values, kind, where=str(path))
        self._written = written
        for catalogue, entries in added.items():
            self.catalogues[catalogue] |= entries
            self._folder |= {(catalogue, name): folder for name in entries}

    def file(self, catalogue: str, name: str) -> Path:
        """The file in which an entry is."""
        return self._folder[catalogue, name] / f"{catalogue}.yaml"

    def _check_new(self, catalogue: str, name: str) -> None:
        if (catalogue, name) in self._folder:
            there = self.file(catalogue, name)
            raise UserError(f"{name}: {there} has it too; allowed: another name")


def read_study(
    files: Mapping[str, Path], folder: Path, study: str, variants: Mapping[str, Variant]
) -> Study:
    """A study; its own variants take precedence over these.

    Args:
        files: as `study_files` gives them.
        folder: the configuration folder.

    Raises:
        UserError: as `read_yaml`, a study whose name no target can have, or an unfitting base.
    """
    file = files[study]
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
    complete = checked(written_study(files, study), Study, where=str(file))
    own = with_optima(complete.variants, folder)
    return complete.model_copy(update={"variants": {**variants, **own}})


def written_study(files: Mapping[str, Path], study: str, above: tuple[str, ...] = ()) -> Any:
    """A study as written, on its base as written.

    Raises:
        UserError: as `read_yaml`, or an unfitting base.
    """
    file = files[study]
    values = read_mapping(file)
    if not isinstance(values, dict) or "base" not in values:
        return values
    base = values["base"]
    check_known(f"{file}: base", "study", [base], list(files))
    if base in (study, *above):
        raise UserError(f"{file}: base: {base} builds on {study}; allowed: a study that does not")
    below = written_study(files, base, (study, *above))
    checked(below, Study, where=str(files[base]))
    return built_on_base(values, below)


def study_files(folder: Path, own: Iterable[Path] = ()) -> dict[str, Path]:
    """The files of all studies, by name: of the user's folders those that the first lacks.

    Raises:
        UserError: the configuration folder has none.
    """
    files = {
        file.stem: file
        for each in (*reversed(list(own)), folder)
        for file in (each / "studies").glob("*.yaml")
        if file.name[0] != "."
    }
    if not any(file.parent.parent == folder for file in files.values()):
        raise UserError(f"{folder / 'studies'}: has no study; allowed: at least one file .yaml")
    return dict(sorted(files.items()))


def with_alternatives(
    datasets: Mapping[str, Dataset], chosen: Mapping[str, str], *, where: str
) -> dict[str, Dataset]:
    """The data sets, some of them with alternative archives or in another encoding.

    Args:
        chosen: data set -> the alternative or encoding that is used.
        where: how an error message begins.

    Raises:
        UserError: an unknown data set, alternative or encoding.
    """
    entries = dict(datasets)
    check_known(where, "dataset", chosen, entries)
    for name, choice in chosen.items():
        entry = entries[name]
        choices = [*entry.alternatives, *entry.encodings]
        check_known(f"{where}.{name}", f"alternative of {name}", [choice], choices)
        if choice in entry.alternatives:
            used = {"archives": entry.alternatives[choice], "published": entry.archives}
            entries[name] = entry.model_copy(update=used)
    for name, entry in entries.items():
        if encoding := entry.encodings.get(chosen.get(name)):
            check_known(f"{where}.{name}", "dataset", [encoding.of], datasets)
            # With its alternatives, which are chosen by now.
            source = entries[encoding.of]
            used = {"archives": source.archives, "published": source.published}
            used |= {"layout": encoding.layout, "encoding": encoding}
            entries[name] = entry.model_copy(update=used)
    return entries
