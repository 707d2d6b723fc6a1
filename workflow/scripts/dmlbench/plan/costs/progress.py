"""Progress of the studies: which jobs are done, running or failed, and what is missing.

Read from files: a job is done if its output exists. Folders of runs, data, searches and experiments
are named by their content, so an existing file is the right one.
"""

import math
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from dmlbench import results_lock
from dmlbench.image_folder import AbsentError
from dmlbench.logs import failure
from dmlbench.plan import paths
from dmlbench.plan.catalogs import slurm
from dmlbench.plan.costs.costs import Ahead, ahead
from dmlbench.plan.graph.index import RunIndex
from dmlbench.plan.graph.inputs import Inputs
from dmlbench.plan.paths import Made
from dmlbench.plan.specs.plan import Plan
from dmlbench.plan.views import views


class Stage(NamedTuple):
    """A job of a study.

    Attributes:
        rule: its rule, as in the folders of logs.
        what: its wildcards.
        output: its first output file, relative to the results.
        inputs: the first outputs of the jobs that make its inputs.
    """

    rule: str
    what: str
    output: Made
    inputs: tuple[str, ...] = ()

    @property
    def log(self) -> str:
        """Its log, relative to the results."""
        return f"{paths.LOGS}/{self.rule}/{self.what}.log"


class Progress:
    """Progress of the jobs of some studies, or of one of their views.

    Attributes:
        stages: their jobs.
        missing: those without output; on images, those that another missing job needs.
        begun: missing jobs that were started, by what became of them, and why. `running` are those
            that the current call has started, `waiting` those in a cluster's queue, of several in
            one job the next, `stopped` those that were killed or ended by Ctrl-C.
    """

    def __init__(self, results: Path, stages: Iterable[Stage]):
        self.results = results
        self.stages = list(stages)
        needed, missing = set(), []
        # Jobs come after those that make their inputs.
        for stage in reversed(self.stages):
            is_asked = stage.rule not in OF_IMAGES or stage.output in needed
            if is_asked and not (results / stage.output).exists():
                missing.append(stage)
                needed.update(stage.inputs)
        self.missing = missing[::-1]

    @cached_property
    def begun(self) -> dict[str, list[tuple[Stage, str]]]:
        found = {"running": [], "waiting": [], "stopped": [], "failed": []}
        at_work = results_lock.claimed_by(self.results) is not None
        since = (self.results / results_lock.FILE).stat().st_mtime if at_work else math.inf
        queue, listed = slurm.queue(self.results), set()
        on_a_cluster = slurm.logs(self.results).exists()
        for stage in self.missing:
            log = self.results / stage.log
            if job := queue.get((stage.rule, stage.what)):
                if job.id not in listed:
                    state = "running" if job.state == "RUNNING" else "waiting"
                    found[state].append((stage, f": Slurm job {job.id}"))
                    listed.add(job.id)
                continue
            if not log.exists():
                continue
            # Snakemake leaves empty logs of jobs that a cluster refuses.
            has_begun = log.stat().st_size or not on_a_cluster
            if why := failure(log):
                found["failed"].append((stage, f": {why} ({log})"))
            elif log.stat().st_mtime >= since and has_begun:
                found["running"].append((stage, ""))
            elif log.stat().st_size:
                found["stopped"].append((stage, ": interrupted or killed"))
        return found

    @property
    def has_begun(self) -> bool:
        """Whether a job of these studies alone was started: images and audits are of others too."""
        missing = set(self.missing)
        own = (stage for stage in self.stages if stage.rule not in (*OF_IMAGES, "audit_document"))
        done = any(stage not in missing for stage in own)
        return done or any(self.begun.values())

    def done(self, rule: str) -> tuple[int, int]:
        """Number of a rule's jobs that are done, and of all."""
        missing = sum(stage.rule == rule for stage in self.missing)
        count = sum(stage.rule == rule for stage in self.stages)
        return count - missing, count

    def ahead(self, plan: Plan) -> Ahead:
        """What is missing, in the form in which its cost is estimated."""
        runs = RunIndex(plan, Path(paths.INDEX_OF_RUNS), fresh=True)
        jobs = ((stage.output.rule, stage.output.wildcards) for stage in self.missing)
        return ahead(plan, runs.row, jobs)


OF_IMAGES = ("download", "draw", "index", "pack", "features", "vectors", "split", "weights")
"""Rules that prepare images and networks, for all studies."""


def of_study(plan: Plan, study: str) -> list[Stage]:
    """Every job behind a study's numbers, tables and figures."""
    description = plan.studies[study]
    asked = [paths.first("aggregate", study=study)]
    if description.runs:
        asked.append(paths.first("timings", study=study))
    if description.audit:
        asked.append(paths.first("audit_document", study=description.audit))
    return behind(plan, [*asked, *(file_of_view(study, name) for name in views.views(plan, study))])


def of_view(plan: Plan, study: str, name: str) -> list[Stage]:
    """Every job behind one view, by its name of `views.views`; its own is the last."""
    return behind(plan, [file_of_view(study, name)])


def file_of_view(study: str, name: str) -> Made:
    """A file of a view, by its name of `views.views`."""
    kind, _, own = name.partition(".")
    match kind:
        case "tables":
            return paths.first("table", study=study, table=own)
        case "figures":
            return paths.first("figure", study=study, figure=own)
        case "embedding_maps":
            return paths.first("embedding_map", study=study, map=own)
    return paths.first("tournament", study=study)


def behind(plan: Plan, files: Iterable[Made]) -> list[Stage]:
    """The jobs that make files, each once and after those that make its inputs."""
    inputs = Inputs(RunIndex(plan, Path(paths.INDEX_OF_RUNS), fresh=True))
    outputs: dict[Made, Made] = {}
    stages: dict[Made, Stage] = {}

    def visit(file: Made) -> Made:
        """The first output of a file's job, whose stage and those before it are then known."""
        if file not in outputs:
            output = outputs[file] = paths.first(file.rule, **file.wildcards)
            if output not in stages:
                needed = tuple(dict.fromkeys(map(visit, _needed(inputs, file))))
                kind, _, what = paths.job(file.rule, **file.wildcards).partition("/")
                stages[output] = Stage(kind, what, output, needed)
        return outputs[file]

    for file in files:
        visit(file)
    return list(stages.values())


def _needed(inputs: Inputs, file: Made) -> list[Made]:
    """The files that other jobs make for the job of a file."""
    if not hasattr(inputs, file.rule):
        return []
    try:
        named = getattr(inputs, file.rule)(**file.wildcards)
    except AbsentError:
        # A disk that is not plugged in: what was made of its images can be used.
        if file.rule not in OF_IMAGES:
            raise
        return []
    several = ([each] if isinstance(each, str) else each for each in named.values())
    return [each for files in several for each in files if isinstance(each, Made)]
