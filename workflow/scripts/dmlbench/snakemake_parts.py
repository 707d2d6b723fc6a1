"""What is replaced of Snakemake's private parts: nowhere else does anything replace one.

Snakemake promises none of these, so each is compared at the start of a call with the form that is
known here. One that has another form is left as it is, and a line says what the call goes without.

`PersistenceBase` (what makes a finished job run again)
    Snakemake compares jobs with `.snakemake` of the working folder, which another clone does not
    have, and has no interface for another source. Without: files whose study, code or inputs have
    changed are found in the folder that made them only.
`input_checksums`, `_IOFile.is_checksum_eligible` (has a newer input another content?)
    Snakemake compares the content of a newer input with what a job took, if it is small. Here the
    records say what that was, and, of large files, what they are. Without: a copy of the results
    that does not keep their times is made again.
`DAG.update_needrun` (which jobs are asked whether they must run?)
    Snakemake asks no job below one that runs, as if all of them ran as well. Those that take from
    it ancient inputs alone do not. Without: what is forced, missing or changed below is left out.
`Job.check_protected_output` (may a job write?)
    Snakemake refuses to plan a job whose outputs are write-protected. Without: a dry run on a
    snapshot or a colleague's results ends in an error if something would be made again.
`workflow.rule` (what all rules share)
    A rule made by `use rule` keeps its script, and no profile can name a log, so that each of 30
    rules would state its log, benchmark, environment and resources: 240 lines. Without: jobs print
    on the terminal, `status` cannot say why they failed, no times are estimated from them, and a
    cluster gives each its default resources.
`parse_uri`, `get_function_params` (pure functions, called a dozen times per job)
    A dry run of 12,600 jobs takes 28 s of CPU time instead of 37 s. Without: 37 s.
`ScriptProcessor` (is the script of each job there?)
    Scripts are read for each job instead of once: in a dry run of all studies 12 of 143 s of CPU
    time. Without: 12 s more.
`Executor` of dry runs (what it says of a job)
    A dry run computes what each job asks for, also if it prints none of it (`-q`). Without: of all
    studies with a cluster's profile, a third more CPU time.
`scheduler.job_rate_limiter`, `scheduler._schedule_reevalutation` (how many jobs start at once)
    With a limit, whatever its numbers, the scheduler looks at all waiting jobs once more for every
    ended one, time and again: in a call of four jobs eleven times instead of five. Hours into a
    study that takes a whole core. The command line knows no value for none; Snakemake's Python
    interface does, and has it as its default. Without: a core is busy.
`GroupResources.basic_layered` (what a cluster's job of several asks for)
    The plugin for Slurm runs jobs of a group one after the other, but Snakemake adds up the memory
    and GPUs of those that could run together, and times beyond any limit. Without: a run with
    embeddings of two kinds asks for two GPUs, and short partitions refuse it.
`Executor` of the plugin for Slurm (what it says of jobs)
    What sbatch or the scheduler say of a group is dropped, and an error before a group is submitted
    raises another one, after which the call waits for ever. A group has no name in the queue and
    in its log's folder, which is that of the profile instead of this call's results. Without: all
    of that; `status` lists no jobs of the queue.
`DefaultStreamHandler` (lines about single jobs)
    A logger plugin must be installed before Snakemake starts, and chosen by an option. Without:
    Snakemake's own lines.
"""

import contextlib
import functools
import importlib
import inspect
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from dmlbench import provenance
from dmlbench.leavable_stream import LeavableStream
from dmlbench.plan import paths
from dmlbench.plan.catalogs.job_resources import NOT_SUBMITTED
from dmlbench.plan.records import stale
from dmlbench.provenance import Record

_UNASKED = (100, 1)
"""Snakemake's limit of jobs and seconds where nobody asks for another one."""


@dataclass(frozen=True, eq=False)
class Part:
    """A function, method or class of Snakemake's.

    Attributes:
        owner: its module, class or object.
        parameters: their names, in the form that is known here.
    """

    owner: Any
    name: str
    parameters: str

    @property
    def original(self) -> Any:
        return getattr(self.owner, self.name, None)

    @property
    def is_known(self) -> bool:
        """Whether it has the known form."""
        names = self.parameters.split()
        return callable(self.original) and [*inspect.signature(self.original).parameters] == names


def replace(parts: Mapping[Part, Callable[[Any], Any]], without: str) -> None:
    """Replace parts that belong together: all, or none if one of them has another form.

    Args:
        parts: part -> makes its replacement, with the same parameters, from the original.
        without: what the call goes without if they stay, in words.
    """
    others = [part.name for part in parts if not part.is_known]
    if others:
        names = ", ".join(dict.fromkeys(others))
        print(f"dmlbench: this Snakemake has another {names}: {without}", file=sys.stderr)
        return
    for part, of_original in parts.items():
        setattr(part.owner, part.name, of_original(part.original))


def remember_pure_functions() -> None:
    """Compute each of them once per argument, in this process."""
    parts = (
        Part(_module("smart_open"), "parse_uri", "uri_as_string"),
        Part(_module("snakemake.common"), "get_function_params", "func"),
        Part(_module("snakemake.rules"), "get_function_params", "func"),
    )
    replace(dict.fromkeys(parts, functools.cache), "planning takes a third longer")


def check_each_script_once() -> None:
    """Look whether a rule's script is there for its first job only, in this process."""
    checked: set[tuple[str, str]] = set()

    def once(original):
        def process_job(self, job):
            script = (job.rule.name, str(getattr(job.rule, self.script_type, None)))
            # Wildcards in its name make it another one for each job.
            if script not in checked or "{" in script[1]:
                original(self, job)
                checked.add(script)

        return process_job

    # Versions without this class look for no script before its job starts.
    if processor := getattr(_module("snakemake.dag"), "ScriptProcessor", None):
        part = Part(processor, "process_job", "self job")
        replace({part: once}, "planning takes a tenth longer")


def describe_printed_jobs() -> None:
    """Let a dry run of this process describe its jobs only if somebody is to read that."""

    def described(original):
        def printjob(self, job):
            settings = self.workflow.output_settings
            is_quiet = {"RULES", "ALL"}.intersection(each.name for each in settings.quiet or ())
            if not is_quiet or settings.log_handler_settings:
                original(self, job)

        return printjob

    part = Part(
        getattr(_module("snakemake.executors.dryrun"), "Executor", None), "printjob", "self job"
    )
    replace({part: described}, "a quiet dry run takes longer")


def trust_records(results: str) -> None:
    """Let Snakemake compare jobs with the records of their files, in this process.

    Jobs whose files have no record are compared with what `.snakemake` says, if it knows them, and
    so are parameters of stages without the digest of their code, such as a download's.

    Args:
        results: the folder of results.
    """
    module = _module("snakemake.persistence")
    change = Part(module, "ParamsChange", "only_old only_new files")

    def has_metadata(original):
        return lambda self, job: _record(job, results) is not None or original(self, job)

    def has_outdated_metadata(original):
        return lambda self, job: _record(job, results) is None and original(self, job)

    def input_changed(original):
        return lambda self, job, file=None: (
            original(self, job, file) if _record(job, results) is None else ()
        )

    def params_changed(original):
        def changed(self, job, file=None):
            record, params = _record(job, results), dict(job.params.items())
            if record is None or "source" not in params:
                return original(self, job, file)
            folder = os.path.dirname(job.output[0])
            if not provenance.is_in_place(record, folder):
                return change.original(
                    only_old={f"place {record.place}"},
                    only_new={f"place {folder}"},
                    files=set(job.output),
                )
            inputs = map(str, job.input)
            differs = stale.difference(record, inputs=inputs, params=params, results=results)
            if differs is None:
                return change.original()
            before, now = differs
            return change.original(only_old={before}, only_new={now}, files=set(job.output))

        return changed

    base = getattr(module, "PersistenceBase", None)
    replace(
        {
            change: lambda original: original,
            Part(base, "has_metadata", "self job"): has_metadata,
            Part(base, "has_outdated_metadata", "self job"): has_outdated_metadata,
            Part(base, "input_changed", "self job file"): input_changed,
            Part(base, "params_changed", "self job file"): params_changed,
        },
        "finished files are compared with .snakemake, not with their records",
    )


def let_dates_not_count(results: str) -> None:
    """Let records say whether a newer input has another content, in this process.

    Args:
        results: the folder of results.
    """

    # Snakemake asks for each newer input of a job in turn.
    @functools.lru_cache(maxsize=1)
    def taken(job) -> dict[str, str]:
        record = _record(job, results)
        inputs = map(str, job.input)
        return {} if record is None else provenance.inputs_as_recorded(record, inputs, results)

    def input_checksums(original):
        def checksums(self, job, input_path):
            known = taken(job).get(str(input_path))
            return {f"sha256:{known}"} if known else original(self, job, input_path)

        return checksums

    def is_checksum_eligible(original):
        async def is_comparable(self, threshold):
            if await original(self, threshold):
                return True
            cache = self.rule.workflow.iocache
            record = provenance.record_of(str(self)) if cache.active else None
            if record is not None:
                cache.checksum[self] = f"sha256:{record.files[os.path.basename(self)]}"
            return record is not None

        return is_comparable

    base = getattr(_module("snakemake.persistence"), "PersistenceBase", None)
    file = getattr(_module("snakemake.io"), "_IOFile", None)
    replace(
        {
            Part(base, "input_checksums", "self job input_path"): input_checksums,
            Part(file, "is_checksum_eligible", "self threshold"): is_checksum_eligible,
        },
        "copies without their times are made again",
    )


def ask_behind_ancient_inputs() -> None:
    """Ask jobs with ancient inputs whether they must run, in this process."""

    def asking(original):
        async def update_needrun(self, create_inventory=False):
            reached = self.bfs
            self.bfs = lambda direction, job: reached(_Triggering(direction), job)
            try:
                await original(self, create_inventory)
            finally:
                del self.bfs

        return update_needrun

    dag = getattr(_module("snakemake.dag"), "DAG", None)
    part = Part(dag, "update_needrun", "self create_inventory")
    replace({part: asking}, "what is forced below images and weights may be left out")


class _Triggering:
    """The jobs that run because a job does, as Snakemake has jobs that take files of a job."""

    def __init__(self, depending: Mapping[Any, Mapping[Any, set]]):
        self.depending = depending

    def __getitem__(self, job: Any) -> dict[Any, set]:
        return {
            below: files
            for below, files in self.depending[job].items()
            if not all(file.is_ancient and os.path.exists(file) for file in files)
        }


def plan_read_only_results(is_dry_run: Callable[[], bool], check: Callable[[], None]) -> None:
    """Let a dry run of this process plan what would write to a folder that is read-only.

    Args:
        is_dry_run: asked when the plan is made.
        check: called for other plans; it ends the call if the results cannot be written to.
    """

    def checked(original):
        async def check_protected_output(self):
            if not is_dry_run():
                if self.output:
                    check()
                await original(self)

        return check_protected_output

    part = Part(getattr(_module("snakemake.jobs"), "Job", None), "check_protected_output", "self")
    replace({part: checked}, "results that are read-only cannot be planned")


def _record(job, results: str) -> Record | None:
    """The record of a job's first file."""
    file = str(job.output[0]) if job.output else ""
    return provenance.record_of(file) if file.startswith(f"{results}/") else None


def share_directives(workflow, shared: Callable[[str | None, str, bool], list[Callable]]) -> None:
    """Give rules directives that their files do not repeat.

    Args:
        workflow: Snakemake's.
        shared: gives them by the name of a rule, its file, and whether its jobs run where Snakemake
            does; as `workflow.log(...)` makes them.
    """

    def sharing(original):
        def rule(name=None, lineno=None, snakefile=None, checkpoint=False):
            def decorate(directives):
                is_local = bool(getattr(directives, "localrule", False))
                for directive in shared(name, snakefile, is_local):
                    directives = directive(directives)
                return original(name, lineno, snakefile, checkpoint)(directives)

            return decorate

        return rule

    part = Part(workflow, "rule", "name lineno snakefile checkpoint")
    replace({part: sharing}, "rules have no log, benchmark, environment and resources")


def start_jobs_as_asked(workflow) -> None:
    """No limit on jobs in a time unless the call asks for one; then one look at a time for more."""
    scheduler = workflow.scheduler
    limiter = getattr(scheduler, "job_rate_limiter", None)
    asked = (getattr(limiter, "max_jobs", None), getattr(limiter, "timespan", None))
    if asked == _UNASKED:
        scheduler.job_rate_limiter = None
    elif limiter is not None:
        due = 0.0

        def seldom(original):
            def look_again(delay):
                nonlocal due
                if time.monotonic() >= due:
                    due = time.monotonic() + delay
                    original(delay)

            return look_again

        part = Part(scheduler, "_schedule_reevalutation", "delay")
        replace({part: seldom}, "with a limit on jobs in a time, the scheduler keeps a core busy")


def run_groups_in_turn(most_minutes: Callable[[int, int], float]) -> None:
    """Let a group ask for what its largest job needs, and for the sum of their times.

    Args:
        most_minutes: the longest time of a job with so many GPUs and MB of memory.
    """

    def in_turn(original):
        def basic_layered(
            toposorted_jobs, constraints, run_local, additive_resources=None, sortby=None
        ):
            each = [[job] for level in toposorted_jobs for job in level]
            found = original(each, constraints, run_local, additive_resources, sortby)
            if not run_local and "runtime" in found:
                most = most_minutes(found.get("gpu", 0), found.get("mem_mb", 0))
                found["runtime"] = int(min(found["runtime"], most))
            return found

        return staticmethod(basic_layered)

    part = Part(
        getattr(_module("snakemake.resources"), "GroupResources", None),
        "basic_layered",
        "toposorted_jobs constraints run_local additive_resources sortby",
    )
    replace({part: in_turn}, "groups ask for the memory and GPUs of all their jobs at once")


def say_what_slurm_says(logs: Path) -> None:
    """Name the jobs of groups, and print what Slurm says of those that fail, in this process.

    Args:
        logs: the folder for what jobs print.
    """
    plugin = _module("snakemake_executor_plugin_slurm")

    def named(original):
        def get_job_wildcards(job):
            jobs = job.jobs if job.is_group() else [job]
            known = [each for each in jobs if each.rule.name in paths.RULES]
            names = {
                paths.job(each.rule.name, **dict(each.wildcards.items())).partition("/")[2]
                for each in known
            }
            # What is made of a run or of a data set has its name.
            own = {name for name in names if not name.startswith(_beginnings(names - {name}))}
            if not own:
                return original(job)
            more = f"-and-{len(own) - 1}-more" if len(own) > 1 else ""
            return f"{min(own)}{more}"

        return get_job_wildcards

    def ended(original):
        def run_job(self, job):
            try:
                original(self, job)
            except Exception as error:  # noqa: BLE001 (raised in a thread, whose errors nobody sees)
                found = plugin.SubmittedJobInfo(job)
                self._report_job_error_threadsafe(found, str(error.__context__ or error))

        return run_job

    def printed(original):
        def print_job_error(self, job_info, msg=None, **kwargs):
            submitted = job_info.external_jobid
            if job_info.job.is_group() or submitted is None:
                name = f"{job_info.job.name} {plugin.get_job_wildcards(job_info.job)}"
                what = f"is Slurm job {submitted}" if submitted else NOT_SUBMITTED
                said = (msg or "").partition("\n    sbatch call:")[0]
                self.logger.error(f"dmlbench: {name} {what}: {said}")
            # Otherwise the logs of an earlier job would be shown as those of this one.
            if submitted is not None:
                original(self, job_info, msg, **kwargs)

        return print_job_error

    executor = getattr(plugin, "Executor", None)
    replace(
        {
            Part(plugin, "_select_logdir", "workflow"): lambda original: lambda workflow: logs,
            Part(plugin, "get_job_wildcards", "job"): named,
            Part(executor, "run_job", "self job"): ended,
            Part(executor, "print_job_error", "self job_info msg kwargs"): printed,
        },
        "what Slurm says of groups is not printed",
    )


def _beginnings(names: set[str]) -> tuple[str, ...]:
    return tuple(f"{name}{mark}" for name in names for mark in "/-")


def take_over_terminal(
    logger: logging.Logger, is_shown: Callable[[logging.LogRecord], bool]
) -> LeavableStream | None:
    """Keep some lines of Snakemake's from the terminal; its log file has all of them.

    The thread that collects finished jobs writes them: an error there, because their reader has
    left, would make the call wait for ever.

    Args:
        logger: Snakemake's.
        is_shown: whether a line is for the terminal.

    Returns:
        Where Snakemake prints; None if it does not, or not in a known way.
    """
    for handler in logger.handlers:
        if handler.name == "DefaultStreamHandler" and isinstance(handler, logging.StreamHandler):
            handler.addFilter(is_shown)
            handler.setStream(LeavableStream(handler.stream))
            return handler.stream
    return None


def _module(name: str) -> ModuleType | None:
    with contextlib.suppress(ImportError):
        return importlib.import_module(name)
    return None
