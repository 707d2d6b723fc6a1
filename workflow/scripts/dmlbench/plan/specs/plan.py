"""The plan: the rows that the studies list, and the run of each row."""

import itertools
from pathlib import Path

from dmlbench import own_parts
from dmlbench.errors import UserError, check_known, entry, unknown
from dmlbench.own_parts import own_folders
from dmlbench.part_files import check_names
from dmlbench.plan.catalogs import variants
from dmlbench.plan.catalogs.catalogues import Weights
from dmlbench.plan.catalogs.choices import SplitRule
from dmlbench.plan.catalogs.configuration import Configuration
from dmlbench.plan.catalogs.naming import complete as complete_choice
from dmlbench.plan.catalogs.naming import slug
from dmlbench.plan.catalogs.rows import Row
from dmlbench.plan.catalogs.where import Where
from dmlbench.plan.once import once
from dmlbench.plan.specs import grids, rehearsal, searches
from dmlbench.plan.specs.config_folder import (
    Entries,
    read_study,
    study_files,
    with_alternatives,
)
from dmlbench.plan.specs.data import Data, data_of
from dmlbench.plan.specs.resolution import spec_of, versions_of
from dmlbench.plan.specs.run import Run, folder_of
from dmlbench.plan.specs.searches import Search
from dmlbench.plan.specs.spec import Spec
from dmlbench.plan.studies.studies import Study


class Plan:
    """The checked configuration, and its rows and runs.

    Attributes:
        configuration: config.yaml, with the changes of command line and profile.
        datasets, networks, methods, recipes, measures, experiments, variants: the catalogues,
            id -> entry; a study's own variants take precedence.
        studies: id -> study: those of the configuration, in its order, or all files of `studies/`,
            without the broken ones.
        broken: study whose file cannot be used -> the error, which names the file; likewise a
            folder of the user without studies, by its name.
        own: the user's folders, read after the configuration folder.
        files: study -> its file, of all that are there.
        told: the broken studies whose error was raised.
        searches: id -> search.
        known: folder -> first row, of the runs requested so far.
        absent: data set -> why its folder cannot be read now, of those requested so far.
    """

    def __init__(self, configuration: Configuration, folder: Path):
        self.configuration = configuration
        self.folder = folder
        self.own = own_folders(configuration.own)
        own_parts.use(self.own)
        self.entries = Entries(folder)
        unread: dict[Path, str] = {}
        for own in self.own:
            try:
                check_names(own)
                self.entries.add(own)
            except UserError as error:
                unread[own] = str(error)
        for catalogue, entries in self.entries.catalogues.items():
            setattr(self, catalogue, entries)
        where = f"{folder / 'config.yaml'}: data.alternatives"
        chosen = configuration.data.alternatives
        self.datasets = with_alternatives(self.datasets, chosen, where=where)
        self.studies: dict[str, Study] = {}
        self.broken: dict[str, str] = {}
        self.told: set[str] = set()
        self.files = study_files(folder, self.own)
        for study in configuration.studies or self.files:
            check_known(f"{folder / 'config.yaml'}", "study", [study], self.files)
            if problem := unread.get(self.file(study).parent.parent):
                self.broken[study] = problem
                continue
            try:
                self.studies[study] = read_study(self.files, folder, study, self.variants)
            except UserError as error:
                self.broken[study] = str(error)
        told = {self.file(study).parent.parent for study in self.broken}
        self.broken |= {own.name: unread[own] for own in unread.keys() - told}
        self.searches = self._shortened(self.searches)
        if toy := configuration.rehearsal:
            toys = rehearsal.catalogues(toy, self.datasets, self.networks)
            self.datasets, self.networks = toys
            if toy.experiments:
                self.experiments = rehearsal.shortened(toy.experiments, self.experiments)
        self.known: dict[str, Row] = {}
        self.absent: dict[str, str] = {}

    def study(self, name: str) -> Study:
        """A study.

        Raises:
            UserError: there is none of this name, or its file is broken.
        """
        if name in self.broken:
            raise self.problem_of(name)
        return entry("study", name, self.studies)

    def problem_of(self, name: str) -> UserError:
        """The error of a broken study, which then needs no warning."""
        self.told.add(name)
        return UserError(self.broken[name])

    def warnings(self) -> list[str]:
        """A line for each broken study whose error did not end the call, and for absent folders."""
        left_out = [
            f"warning: study left out: {problem}"
            for study, problem in self.broken.items()
            if study not in self.told
        ]
        return left_out + self.warnings_of_absent_images()

    def warnings_of_absent_images(self) -> list[str]:
        """A line for each data set whose images were looked for in vain."""
        return [
            f"warning: data set {name}: {problem}; what was made of it can be used"
            for name, problem in self.absent.items()
        ]

    def check_all_studies(self) -> None:
        """Raise the UserError of the first broken study; what needs all studies calls it."""
        for name in self.broken:
            raise self.problem_of(name)

    def rows(self, study: str, where: Where | None = None) -> list[Row]:
        """The rows of a study, in its order."""
        return [row for row in self._rows(study) if where is None or where.holds(row)]

    def runs(self, study: str | None = None, where: Where | None = None) -> list[Run]:
        """The runs of a study, or of all studies: each once."""
        studies = [study] if study else list(self.studies)
        rows = itertools.chain.from_iterable(self.rows(name, where) for name in studies)
        return list(dict.fromkeys(map(self.run, rows)))

    @once
    def run(self, row: Row) -> Run:
        """The run of a row.

        Raises:
            UserError: values that no training accepts; the message names recipe and row.
        """
        spec, data = self.spec(row), self.data(row.dataset).folder
        run = Run(spec, folder_of(spec, data=data, versions=versions_of(self, row)))
        self.known.setdefault(run.folder, row)
        return run

    def spec(self, row: Row) -> Spec:
        """The spec of a row's run, which excludes data and code; raises as `run`."""
        return spec_of(self, row)

    def search_of(self, row: Row) -> str | None:
        """The search whose best values a row's run uses; None for most."""
        return variants.search_of(row.variant, self.variants_of(row.study), row)

    @once
    def data(self, dataset: str) -> Data:
        """A data set of the catalogue with its folder."""
        name = rehearsal.TOY if self.configuration.rehearsal else dataset
        identified = data_of(name, self.datasets[dataset])
        if identified.absent:
            self.absent[name] = identified.absent
        return identified

    def find_data(self, folder: str) -> Data:
        """The data set of a folder below `results/data`.

        Raises:
            UserError: no data set of the catalogue has this folder.
        """
        name = folder.rpartition("-")[0]
        names = [name] if name in self.datasets else list(self.datasets)
        candidates = [self.data(each) for each in names]
        for data in candidates:
            if data.folder == folder:
                return data
        if len(candidates) == 1 and candidates[0].entry.folder:
            raise UserError(
                f"{candidates[0].entry.folder}: is now the data set {candidates[0].folder} and not "
                f"{folder}, as it has changed; run the same command again"
            )
        raise unknown("data set", folder, [data.folder for data in candidates])

    def split_rule(self, name: str) -> SplitRule:
        """The rule of a split's file: the inverse of `naming.slug` for rules of the catalogue."""
        return entry("split", name, self._split_rules())

    def metrics(self, run: Run) -> list[str]:
        """A run's metrics: those of its data set; a toy data set has those of all."""
        if run.spec.dataset in self.datasets:
            return list(self.datasets[run.spec.dataset].metrics)
        names = (metric for entry in self.datasets.values() for metric in entry.metrics)
        return list(dict.fromkeys(names))

    def threads(self, spec: Spec) -> int:
        """CPU threads of a run's jobs: 1 for heads, else the most that its backbone needs.

        On the features of a frozen network a second thread mostly waits: a training takes half as
        much CPU time again and ends no earlier (batches of 128, heads of 512-D).
        """
        return 1 if spec.network.frozen is not None else self.threads_of_backbone(spec)

    def threads_of_backbone(self, spec: Spec) -> int:
        """CPU threads of a job that runs images through a spec's backbone."""
        backbone = spec.network.backbone.name
        return max(
            network.threads
            for network in self.networks.values()
            if network.backbone.name == backbone
        )

    @property
    def weights(self) -> dict[str, Weights]:
        """The weight files of the catalogue of networks, by file name."""
        named = (network.weights for network in self.networks.values())
        return {weights.file: weights for weights in named if weights}

    def file(self, study: str) -> Path:
        """The file of a study."""
        return self.files[study]

    def variants_of(self, study: str) -> dict[str, variants.Variant]:
        """The variants of a study; a search belongs to no study and has none."""
        return self.studies[study].variants if study else {}

    @once
    def _split_rules(self) -> dict[str, SplitRule]:
        rules = [rule for each in self.datasets.values() for rule in each.splits.values()]
        completed = [SplitRule.model_validate(complete_choice(rule)) for rule in rules]
        return {slug(rule): rule for rule in completed}

    @once
    def _rows(self, study: str) -> list[Row]:
        rows = [
            row
            for position, grid in enumerate(self.studies[study].runs)
            for row in grids.listed(self, grid, study, f"{self.file(study)}: runs.{position}")
        ]
        return list(dict.fromkeys(rows))

    def _shortened(self, full_searches: dict[str, Search]) -> dict[str, Search]:
        """The searches, shortened for a rehearsal or with the budget of the call."""
        toy, trials = self.configuration.rehearsal, self.configuration.search_trials
        if toy and toy.searches:
            return {name: searches.rehearsed(search, toy) for name, search in full_searches.items()}
        return {
            name: searches.with_trials(search, trials) for name, search in full_searches.items()
        }
