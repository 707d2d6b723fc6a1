"""Progress of the studies: which jobs are done, running or failed, and what is missing.

Read from files: a job is done if its output exists. Folders of runs, data, searches and experiments
are named by their content, so an existing file is the right one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from dmlbench import results_lock
from dmlbench.logs import failure
from dmlbench.plan import paths, searches, views
from dmlbench.plan.combinations import combinations
from dmlbench.plan.costs import Ahead
from dmlbench.plan.frozen import features_name
from dmlbench.plan.naming import slug
from dmlbench.plan.plan import Plan
from dmlbench.plan.rows import Row


class Stage(NamedTuple):
    """A job of a study.

    Attributes:
        rule: its rule, as in the folders of logs.
        what: its wildcards.
        output: its first output file, relative to the results.
        row: of a training, one of its rows.
        bytes: of a download, if the catalogue gives them.
        needs: outputs of jobs on images, which are not needed once this job is done.
    """

    rule: str
    what: str
    output: str
    row: Row | None = None
    bytes: int | None = None
    needs: tuple[str, ...] = ()

    @property
    def log(self) -> str:
        """Its log, relative to the results."""
        return f"{paths.LOGS}/{self.rule}/{self.what}.log"


class Failed(NamedTuple):
    stage: Stage
    why: str


class Progress:
    """Progress of the jobs of some studies, or of one of their views.

    Attributes:
        stages: their jobs.
        missing: those without output.
        failed: missing jobs whose last attempt failed, and why.
        running: missing jobs that the current call has started and not finished.
        stopped: missing jobs that were started and ended by Ctrl-C or killed.
    """

    def __init__(self, results: Path, stages: Iterable[Stage]):
        self.results = results
        self.stages = list(dict.fromkeys(stages))
        missing = [stage for stage in self.stages if not (results / stage.output).exists()]
        needed = {output for stage in missing for output in stage.needs}
        self.missing = [
            stage for stage in missing if stage.rule not in OF_IMAGES or stage.output in needed
        ]

    @cached_property
    def failed(self) -> list[Failed]:
        reasons = ((stage, failure(self.results / stage.log)) for stage in self.missing)
        return [Failed(stage, why) for stage, why in reasons if why]

    @cached_property
    def running(self) -> list[Stage]:
        if results_lock.claimed_by(self.results) is None:
            return []
        since = (self.results / results_lock.FILE).stat().st_mtime
        failed = {stage for stage, _ in self.failed}
        return [
            stage
            for stage in self.missing
            if stage not in failed and _changed(self.results / stage.log) >= since
        ]

    @cached_property
    def stopped(self) -> list[Stage]:
        known = {*self.running, *(stage for stage, _ in self.failed)}
        begun = [stage for stage in self.missing if (self.results / stage.log).exists()]
        return [stage for stage in begun if stage not in known]

    @property
    def has_begun(self) -> bool:
        """Whether a job of these studies alone was started: images and audits are of others too."""
        missing = set(self.missing)
        own = (stage for stage in self.stages if stage.rule not in (*OF_IMAGES, "audit_document"))
        done = any(stage not in missing for stage in own)
        return done or bool(self.running or self.stopped or self.failed)

    def done(self, rule: str) -> tuple[int, int]:
        """Number of a rule's jobs that are done, and of all."""
        missing = sum(stage.rule == rule for stage in self.missing)
        count = sum(stage.rule == rule for stage in self.stages)
        return count - missing, count

    def ahead(self, plan: Plan) -> Ahead:
        """What is missing, in the form in which its cost is estimated."""
        own = ("train", "download", "weights", "search_worker")
        trained = [stage.row for stage in self.missing if stage.rule == "train"]
        tuned = [stage.what for stage in self.missing if stage.rule == "search_worker"]
        return Ahead(
            {plan.run(row): row for row in trained},
            list(dict.fromkeys(name.rpartition("-")[0].rpartition("-")[0] for name in tuned)),
            [stage.bytes for stage in self.missing if stage.rule in ("download", "weights")],
            Counter(stage.rule for stage in self.missing if stage.rule not in own),
        )


OF_IMAGES = ("download", "draw", "index", "pack", "features", "split", "weights")
"""Rules that prepare images and networks, for all studies."""


def of_study(plan: Plan, study: str) -> Iterator[Stage]:
    """Every job of a study's page."""
    description = plan.studies[study]
    yield from of_rows(plan, plan.rows(study))
    for row, together in combinations(plan, study).items():
        yield _stage("combine", combination=together.folder, form=row.fold)
    yield from _of_experiments(plan, description.experiments)
    yield _stage("aggregate", study=study)
    if description.runs:
        yield _stage("timings", study=study)
    if description.audit:
        yield _stage("audit_document", study=description.audit)
    for name, view in views.views(plan, study).items():
        yield from of_view(plan, study, name, view)


def of_view(plan: Plan, study: str, name: str, view: views.View) -> Iterator[Stage]:
    """Every job of one view, by its name of `views.views`."""
    yield from of_rows(plan, views.trained_rows(plan, study, view.where))
    yield from _of_experiments(plan, getattr(view, "experiments", ()))
    for search in views.searches_of(view):
        yield from _of_search(plan, search)
    kind, _, own = name.partition(".")
    match kind:
        case "tournament":
            yield _stage("tournament", study=study)
        case "tables":
            yield _stage("table", study=study, table=own)
        case "figures":
            yield _stage("figure", study=study, figure=own)
        case "embedding_maps":
            yield _stage("embedding_map", study=study, map=own)


def of_rows(plan: Plan, rows: Iterable[Row]) -> Iterator[Stage]:
    """The runs of rows, the images that they train on and the searches that tune them."""
    for row in rows:
        run = plan.run(row)
        if search := plan.search_of(row):
            yield from _of_search(plan, search)
        images = list(_of_images(plan, row))
        yield from images
        needs = tuple(stage.output for stage in images)
        # The first of all rows with this run, so that equal jobs are equal stages.
        first = plan.known[run.folder]
        yield _stage("train", run=run.folder)._replace(row=first, needs=needs)
        yield _stage("embed", run=run.folder)._replace(needs=needs)
        yield _stage("evaluate", run=run.folder)


def _of_images(plan: Plan, row: Row) -> Iterator[Stage]:
    """Images, split and weights of a row."""
    data, spec = plan.data(row.dataset), plan.run(row).spec
    if data.entry.generator:
        yield _stage("draw", data=data.folder)
    for name, archive in data.entry.archives.items():
        fetched = _stage("download", dataset=data.name, archive=name)
        yield fetched._replace(bytes=archive.bytes)
    yield _stage("index", data=data.folder)
    yield _stage("pack", data=data.folder, size=spec.network.pixels, mode=spec.network.mode)
    if spec.network.frozen is not None:
        yield _stage("features", data=data.folder, features=features_name(spec))
    yield _stage("split", data=data.folder, split=slug(spec.split))
    if spec.network.weights:
        file = spec.network.weights.file
        yield _stage("weights", file=file)._replace(bytes=plan.weights[file].bytes)


def _of_experiments(plan: Plan, names: Iterable[str]) -> Iterator[Stage]:
    for name in names:
        experiment = plan.experiments[name]
        for seed in experiment.seeds:
            yield _stage("experiment", experiment=experiment.folder(name), seed=seed)


def _of_search(plan: Plan, name: str) -> Iterator[Stage]:
    folder = searches.folder(plan, name)
    for worker in range(plan.searches[name].workers):
        yield _stage("search_worker", search=folder, worker=worker)
    yield _stage("search", search=folder)


def _stage(rule: str, **wildcards) -> Stage:
    kind, _, what = paths.job(rule, **wildcards).partition("/")
    return Stage(kind, what, paths.first(rule, **wildcards))


def _changed(file: Path) -> float:
    return file.stat().st_mtime if file.exists() else 0.0
