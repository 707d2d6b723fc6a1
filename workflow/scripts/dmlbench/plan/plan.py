"""The plan: which runs the studies ask for, and what each of them is."""

import functools
import itertools
from pathlib import Path

from dmlbench.errors import UserError, unknown
from dmlbench.plan import rehearsal
from dmlbench.plan.catalogues import Dataset, Network, Weights
from dmlbench.plan.choices import Identifier
from dmlbench.plan.configuration import Configuration
from dmlbench.plan.read import checked, read_yaml
from dmlbench.plan.recipes import Method, Recipe
from dmlbench.plan.run import Run
from dmlbench.plan.searches import Search, rehearsed
from dmlbench.plan.spec import Spec, resolve
from dmlbench.plan.studies import Grid, Study, Where

CATALOGUES = {
    "datasets": Dataset,
    "networks": Network,
    "methods": Method,
    "recipes": Recipe,
}


class Plan:
    """Checked configuration, and the runs that follow from it.

    Attributes:
        configuration: config.yaml, with what command line and profile changed of it.
        datasets, networks, methods, recipes: the catalogues, id -> entry.
        studies: the active studies, id -> study, in the order of the configuration.
        searches: id -> search.
    """

    def __init__(self, configuration: Configuration, folder: Path):
        self.configuration = configuration
        self.folder = folder
        for catalogue, kind in CATALOGUES.items():
            path = folder / f"{catalogue}.yaml"
            setattr(self, catalogue, read_yaml(path, dict[Identifier, kind]))
        self._choose_alternatives(configuration.data.alternatives)
        available = [file.stem for file in (folder / "studies").glob("*.yaml")]
        for study in configuration.studies:
            if study not in available:
                raise unknown("study", study, available)
        self.studies = {
            study: read_yaml(self.file(study), Study) for study in configuration.studies
        }
        if configuration.rehearsal:
            rehearsed = rehearsal.catalogues(configuration.rehearsal, self.datasets, self.networks)
            self.datasets, self.networks = rehearsed
        self.searches = self._read_searches()
        self._runs = {study: self._expand(study) for study in self.studies}

    def runs(self, study: str | None = None, where: Where | None = None) -> list[Run]:
        """The runs of a study, or of all, in the order in which the study lists them."""
        studies = [study] if study else list(self.studies)
        runs = dict.fromkeys(itertools.chain.from_iterable(self._runs[name] for name in studies))
        return [run for run in runs if where is None or where.holds(run)]

    @functools.cache  # noqa: B019 (one plan lives as long as the process)
    def spec(self, run: Run) -> Spec:
        """What a run is, in full."""
        recipe, method = self.recipes[run.recipe], self.methods[run.method]
        sets = [override.set for override in recipe.overrides if override.where.holds(run)]
        if self.configuration.rehearsal:
            sets.append(self.configuration.rehearsal.set)
        values = resolve(
            run, network=self.networks[run.network], method=method, recipe=recipe, sets=sets
        )
        where = f"{self.folder / 'recipes.yaml'}: {run.recipe}, for run {run.path}"
        return checked(values, Spec, where=where)

    @functools.cached_property
    def stand_ins(self) -> dict[Run, Run]:
        """In a rehearsal: run -> the run whose embeddings it is scored with; else empty."""
        return rehearsal.stand_ins(self) if self.configuration.rehearsal else {}

    @property
    def weights(self) -> dict[str, Weights]:
        """The files of weights that the catalogue of networks names, by file name."""
        named = (network.weights for network in self.networks.values())
        return {weights.file: weights for weights in named if weights}

    def file(self, study: str) -> Path:
        """Where a study is described."""
        return self.folder / "studies" / f"{study}.yaml"

    def _read_searches(self) -> dict[str, Search]:
        searches = read_yaml(self.folder / "searches.yaml", dict[Identifier, Search])
        shorter = self.configuration.rehearsal and self.configuration.rehearsal.searches
        if not shorter:
            return searches
        return {name: rehearsed(search, shorter) for name, search in searches.items()}

    def _expand(self, study: str) -> list[Run]:
        runs = [
            run
            for position, grid in enumerate(self.studies[study].runs)
            for run in self.combinations(grid, f"{self.file(study)}: runs.{position}")
        ]
        return list(dict.fromkeys(runs))

    def combinations(self, grid: Grid, where: str) -> list[Run]:
        """The runs of a grid.

        Raises:
            UserError: a name that its catalogue lacks; `where` says where it stands.
        """
        for key in ("dataset", "network", "method", "recipe"):
            catalogue = getattr(self, f"{key}s")
            for name in getattr(grid, key):
                if name not in catalogue:
                    raise UserError(f"{where}.{key}: {unknown(key, name, catalogue)}")
        for dataset, split in itertools.product(grid.dataset, grid.split):
            splits = self.datasets[dataset].splits
            if split not in splits:
                raise UserError(f"{where}.split: {unknown(f'split of {dataset}', split, splits)}")
        for recipe, method in itertools.product(grid.recipe, grid.method):
            samplings = self.recipes[recipe].sampling
            sampling = self.methods[method].sampling
            if sampling not in samplings:
                problem = unknown(f"sampling of method {method}", sampling, samplings)
                raise UserError(f"{where}.recipe: {recipe} lacks it: {problem}")
        values = itertools.product(
            grid.dataset,
            grid.network,
            grid.embedding_dim,
            grid.method,
            grid.recipe,
            grid.split,
            grid.fold or [None],
            grid.seed,
        )
        return [Run(*value) for value in values]

    def _choose_alternatives(self, chosen: dict[str, str]) -> None:
        """Put other archives in the place of a data set's own, where the configuration says so."""
        for name, choice in chosen.items():
            where = f"{self.folder / 'config.yaml'}: data.alternatives"
            if name not in self.datasets:
                raise UserError(f"{where}: {unknown('dataset', name, self.datasets)}")
            alternatives = self.datasets[name].alternatives
            if choice not in alternatives:
                problem = unknown(f"alternative of {name}", choice, alternatives)
                raise UserError(f"{where}.{name}: {problem}")
            archives = {"archives": alternatives[choice]}
            self.datasets[name] = self.datasets[name].model_copy(update=archives)
