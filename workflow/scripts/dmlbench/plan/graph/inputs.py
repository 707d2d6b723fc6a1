"""The inputs of jobs: a method for each rule whose inputs are looked up, with its wildcards."""

import os

from dmlbench import registry
from dmlbench.errors import UserError, entry
from dmlbench.image_folder import AbsentError
from dmlbench.plan import paths
from dmlbench.plan.catalogs.catalogues import NetworkValues
from dmlbench.plan.catalogs.naming import complete, slug
from dmlbench.plan.catalogs.rows import Row
from dmlbench.plan.graph.index import RunIndex
from dmlbench.plan.specs import certified_runs, combinations, frozen, published_runs, searches
from dmlbench.plan.specs.data import Data
from dmlbench.plan.specs.frozen import GIVEN
from dmlbench.plan.specs.searches import Search
from dmlbench.plan.specs.spec import Spec
from dmlbench.plan.views import score_files, views

Files = dict[str, str | list[str]]
"""Name -> path or paths; those of results begin with Snakemake's variable `<results>`."""


def made(rule: str, output: str = "", **wildcards: str | int) -> paths.Made:
    """`paths.made`, as Snakemake needs it."""
    return paths.made(rule, output, **wildcards).below("<results>")


class Inputs:
    """The inputs of jobs, by rule.

    Args:
        runs: finds the row of a run's folder; it has the plan.

    Raises:
        UserError: the plan lacks what a wildcard names; so does every method. AbsentError, if a
            user's folder is needed and not there.
    """

    def __init__(self, runs: RunIndex):
        self.runs, self.plan = runs, runs.plan

    # Data

    def draw(self, data: str) -> Files:
        return self._downloads(self.plan.find_data(data))

    def index(self, data: str) -> Files:
        return self._archives(data, made("index", data=data))

    def pack(self, data: str, size: str, mode: str) -> Files:
        pixels = made("pack", "pixels", data=data, size=size, mode=mode)
        return self._archives(data, pixels) | {"index": made("index", data=data)}

    def split(self, data: str, split: str) -> Files:
        return {"index": made("index", data=data)}

    def _archives(self, data: str, output: str) -> Files:
        """The archives of a data set; if a folder is absent, its output must be there."""
        dataset = self.plan.find_data(data)
        results = self.plan.configuration.pathvars.results
        if dataset.absent and not os.path.exists(output.replace("<results>", results)):
            raise AbsentError(
                f"data set {dataset.name}: {dataset.absent}; its images are needed now"
            )
        if dataset.entry.folder:
            return {"archives": [os.path.expanduser(dataset.entry.folder)]}
        if dataset.entry.generator:
            return {"archives": [made("draw", data=data)]}
        return self._downloads(dataset)

    def _downloads(self, dataset: Data) -> Files:
        encoding, names = dataset.entry.encoding, dataset.entry.archives
        owner = encoding.of if encoding else dataset.name
        return {"archives": [made("download", dataset=owner, archive=name) for name in names]}

    def features(self, data: str, features: str) -> Files:
        row, spec = self.extracted(data, features)
        return self._pixels(row, spec) | self._weights(spec)

    def vectors(self, data: str) -> Files:
        """List and index; and the pictures, which pages show that no job packs images for."""
        files = self._archives(data, made("vectors", data=data))
        files |= {"index": made("index", data=data)}
        shown = complete(self.plan.find_data(data).entry.layout)["path"]
        return files | _packed(data, self.plan.networks[GIVEN]) if shown else files

    def extracted(self, data: str, features: str) -> tuple[Row, Spec]:
        """A row that needs these features, and its spec."""
        row = frozen.row_with(self.plan, data, features)
        return row, self.plan.spec(row)

    # Runs and searches

    def train(self, run: str) -> Files:
        row, spec = self.runs.row(run), self.runs.find(run).spec
        search = self.plan.search_of(row)
        best = {"best": made("search", "best", search=self._search(search))} if search else {}
        return self._trained_on(row, spec) | best

    def embed(self, run: str) -> Files:
        trained = {name: made("train", name, run=run) for name in ("spec", "model", "last")}
        return self._images(self.runs.row(run), self.runs.find(run).spec) | trained

    embed_train = embed

    def search_worker(self, search: str, worker: str) -> Files:
        tuned = self.searched(search).tuned
        spec = self.plan.spec(tuned)
        return self._trained_on(tuned, spec)

    def search(self, search: str) -> Files:
        workers = range(self.searched(search).workers)
        return {"workers": [made("search_worker", search=search, worker=n) for n in workers]}

    def searched(self, folder: str) -> Search:
        """The search of a folder."""
        name = folder.rpartition("-")[0]
        search = entry("search", name, self.plan.searches)
        if self._search(name) != folder:
            raise UserError(f"search {folder}: is now {self._search(name)}")
        return search

    def evaluate(self, run: str) -> Files:
        files = {"embeddings": made("embed", run=run)}
        if self.runs.find(run).spec.own_best_metrics:
            files["history"] = made("train", "history", run=run)
        return files

    def measure(self, run: str, measure: str) -> Files:
        role = entry("measure", measure, self.plan.measures).role
        return {"embeddings": made("embed_train" if role == "train" else "embed", run=run)}

    def combine(self, combination: str, form: str) -> Files:
        folds = combinations.find(self.plan, combination).runs
        return {"embeddings": [made("embed", run=run.folder) for run in folds]}

    # Studies and their views

    def aggregate(self, study: str) -> Files:
        description = self.plan.study(study)
        return {
            "scores": self._scores(study, measures=description.measures),
            "queries": [
                file.below("<results>")
                for _, file in score_files.answers_over_splits(self.plan, study)
            ],
            "tables": self.experiments(description.experiments),
        }

    def certificate(self, study: str) -> Files:
        self.plan.study(study)
        runs = certified_runs.drawn(self.plan, study)
        return {
            "scores": [made("evaluate", "scores", run=run.folder) for run in runs],
            "histories": [made("train", "history", run=run.folder) for run in runs],
            "published": [
                file
                for output in ("scores", "runs")
                if (file := published_runs.file_of(self.plan, study, output))
            ],
        }

    def timings(self, study: str) -> Files:
        # Whatever makes the long table has trained all runs, without naming each of them again.
        return {"scores": [made("aggregate", "scores", study=study)]}

    def tournament(self, study: str) -> Files:
        view = views.view(self.plan, study, "tournament", None)
        return {"scores": self._scores(study, view.where), "queries": self._queries(study, view)}

    def table(self, study: str, table: str) -> Files:
        view = views.view(self.plan, study, "table", table)
        shown = self._view(study, view)
        answered = self._reads_queries(study, view) and not shown["board"]
        return shown | {
            "queries": self._queries(study, view) if answered else [],
            "trials": [
                made("search", "trials", search=self._search(name)) for name in view.searches
            ],
        }

    def figure(self, study: str, figure: str) -> Files:
        view = views.view(self.plan, study, "figure", figure)
        draws = "arrays" in registry.options("presentation/figures", view.kind.name)
        rows = self.plan.rows(study, view.where)
        arrays = [
            made("measure", "arrays", run=self.plan.run(row).folder, measure=measure)
            for measure in view.measures
            for row in rows
        ]
        arrays += self.experiments(view.experiments, "arrays")
        return self._view(study, view) | {"arrays": arrays if draws else []}

    def embedding_map(self, study: str, map: str) -> Files:
        rows = self.plan.rows(study, views.view(self.plan, study, "map", map).where)
        runs = [self.plan.run(row) for row in rows]
        embeddings = [made("embed", run=run.folder) for run in runs]
        return {"embeddings": embeddings, **self._pixels(rows[0], runs[0].spec)}

    def experiments(self, names: list[str], output: str = "table") -> list[str]:
        """The files of experiments, over their seeds."""
        chosen = {name: self.plan.experiments[name] for name in names}
        return [
            made("experiment", output, experiment=experiment.folder(name), seed=seed)
            for name, experiment in chosen.items()
            for seed in experiment.seeds
        ]

    def _view(self, study: str, view: views.Table | views.Figure) -> Files:
        """What tables and figures have in common; a mapping is in the folder of printed tables."""
        printed = views.printed_files(self.plan, study, view)
        return {
            "scores": self._scores(study, view.where, view.measures),
            "tables": self.experiments(view.experiments),
            "printed": list(map(str, printed)),
            "mapping": sorted({str(file.parent / "mapping.yaml") for file in printed}),
            "board": self._board(study, view),
        }

    def _board(self, study: str, view: views.Table | views.Figure) -> list[str]:
        """The study's tournament, if a table or figure ranks the same methods in the same way."""
        ranking = self.plan.studies[study].tournament
        ranks = registry.constant(view.kind.package, view.kind.name, "RANKS")
        if ranking is None or view.selection or ranks is None:
            return []
        # A property of `presentation.kind.Kind`.
        names = views.methods(self.plan, study, view.where)
        if ranks == "compared":
            names = [name for name in names if name != views.baseline(self.plan, study)]
        elif ranks == "dated":
            names = list(views.years(self.plan, names))
        metric = complete(view.kind)["metric"]
        same = (view.where, metric, names) == (
            ranking.where,
            ranking.metric,
            views.ranked_methods(self.plan, study),
        )
        return [made("tournament", "parquet", study=study)] if same else []

    def _scores(self, study: str, where=None, measures=()) -> list[str]:
        shown = score_files.shown(self.plan, study, where, measures)
        return [file.below("<results>") for _, file in shown]

    def _reads_queries(self, study: str, view: views.Table) -> bool:
        part = view.kind.package, view.kind.name
        if "queries" not in registry.options(*part):
            return False
        over_splits = bool(score_files.rows_over_splits(self.plan, study, view.where))
        return over_splits or not registry.constant(*part, "QUERIES_OF_SPLITS")

    def _queries(self, study: str, view: views.View) -> list[str]:
        """None if a row's are unknown: a view shows the same for all of its rows."""
        files = [file for _, file in score_files.answers(self.plan, study, view.where)]
        return [] if None in files else [file.below("<results>") for file in files]

    def _search(self, name: str) -> str:
        return searches.folder(self.plan, name)

    def _trained_on(self, row: Row, spec: Spec) -> Files:
        """Images and what a training starts from; features of frozen networks have it in them."""
        weights = self._weights(spec) if spec.network.frozen is None else {}
        return self._images(row, spec) | weights

    def _images(self, row: Row, spec: Spec) -> Files:
        data = self.plan.data(row.dataset).folder
        listed = {
            "index": made("index", data=data),
            "split": made("split", data=data, split=slug(spec.split)),
        }
        if spec.network.frozen is None:
            return listed | self._pixels(row, spec)
        if spec.network.backbone.name == GIVEN:
            return listed | {"features": made("vectors", data=data)}
        features = frozen.features_name(spec)
        return listed | {"features": made("features", data=data, features=features)}

    def _pixels(self, row: Row, spec: Spec) -> Files:
        return _packed(self.plan.data(row.dataset).folder, spec.network)

    def _weights(self, spec: Spec) -> Files:
        weights = spec.network.weights
        return {"weights": made("weights", file=weights.file)} if weights else {}


def _packed(data: str, network: NetworkValues) -> Files:
    packed = {"data": data, "size": network.pixels, "mode": network.mode}
    return {
        "pixels": made("pack", "pixels", **packed),
        "pixel_table": made("pack", "table", **packed),
    }
