"""What is replaced of Snakemake has its form, and stays where Snakemake has another one."""

import ast
import inspect
import logging
import time
from types import SimpleNamespace

import pytest
import snakemake.api
import snakemake_executor_plugin_slurm as slurm
from dmlbench import snakemake_parts
from dmlbench.snakemake_parts import Part, replace
from project import REPOSITORY
from snakemake import common, dag, persistence, rules
from snakemake import resources as snakemake_resources
from snakemake.executors import dryrun
from snakemake.iocontainers import Wildcards
from snakemake.persistence import PersistenceBase
from snakemake.scheduling.job_scheduler import JobRateLimiter
from snakemake.settings.enums import Quietness
from snakemake.settings.types import MaxJobsPerTimespan

METHODS = ("has_metadata", "has_outdated_metadata", "input_changed", "params_changed")


@pytest.fixture(autouse=True)
def _restored(monkeypatch):
    for owner, *names in (
        (PersistenceBase, *METHODS),
        (persistence, "ParamsChange"),
        (common, "get_function_params"),
        (rules, "get_function_params"),
        (snakemake_parts._module("smart_open"), "parse_uri"),
        (slurm, "_select_logdir", "get_job_wildcards"),
        (slurm.Executor, "run_job", "print_job_error"),
        (snakemake_resources.GroupResources, "basic_layered"),
    ):
        for name in names:
            monkeypatch.setattr(owner, name, getattr(owner, name))


def test_every_part_of_this_version_is_replaced_by_one_of_its_form(capsys):
    before = {name: getattr(PersistenceBase, name) for name in METHODS}
    snakemake_parts.trust_records("results")
    snakemake_parts.remember_pure_functions()
    assert capsys.readouterr().err == ""
    for name, original in before.items():
        now = getattr(PersistenceBase, name)
        assert now is not original
        assert [*inspect.signature(now).parameters] == [*inspect.signature(original).parameters]


def test_files_without_a_record_are_compared_as_snakemake_does():
    asked = []
    PersistenceBase.input_changed = lambda self, job, file=None: asked.append((job, file)) or [True]
    snakemake_parts.trust_records("results")
    job = SimpleNamespace(output=["elsewhere/file"], params=SimpleNamespace(items=tuple))
    assert PersistenceBase.input_changed(None, job, file="elsewhere/file") == [True]
    assert asked == [(job, "elsewhere/file")]


def test_parts_of_another_form_stay_and_one_line_says_so(capsys):
    owner = SimpleNamespace(one=lambda a: 1, two=lambda a, b: 2)
    one, two = owner.one, owner.two
    parts = (Part(owner, "one", "a"), Part(owner, "two", "a"), Part(owner, "three", ""))
    replace(dict.fromkeys(parts, lambda original: None), "something is slow")
    assert (owner.one, owner.two) == (one, two)
    said = capsys.readouterr().err
    assert said == "dmlbench: this Snakemake has another two, three: something is slow\n"
    replace({parts[0]: lambda original: lambda a: 1 + original(a)}, "")
    assert owner.one(0) == 2


def test_without_the_class_there_is_a_line(capsys, monkeypatch):
    monkeypatch.delattr(persistence, "PersistenceBase")
    snakemake_parts.trust_records("results")
    assert "finished files are compared with .snakemake" in capsys.readouterr().err


def test_the_script_of_a_rule_is_looked_for_once(monkeypatch):
    looked = []
    monkeypatch.setattr(dag.ScriptProcessor, "process_job", lambda self, job: looked.append(job))
    snakemake_parts.check_each_script_once()
    one = SimpleNamespace(rule=SimpleNamespace(name="one", script="one.py"))
    each = SimpleNamespace(rule=SimpleNamespace(name="each", script="{run}.py"))
    for job in (one, one, each, each):
        dag.ScriptProcessor.process_job(SimpleNamespace(script_type="script"), job)
    assert looked == [one, each, each]


def test_a_quiet_dry_run_describes_no_job(monkeypatch):
    described = []
    monkeypatch.setattr(dryrun.Executor, "printjob", lambda self, job: described.append(job))
    snakemake_parts.describe_printed_jobs()
    rules, progress, everything = Quietness.RULES, Quietness.PROGRESS, Quietness.ALL
    calls = {
        "plain": (None, {}),
        "without progress": ({progress}, {}),
        "for a plugin": ({rules}, {"plugin": None}),
        "quiet": ({rules}, {}),
        "silent": ({everything}, {}),
    }
    for name, (quiet, plugins) in calls.items():
        settings = SimpleNamespace(quiet=quiet, log_handler_settings=plugins)
        dryrun.Executor.printjob(
            SimpleNamespace(workflow=SimpleNamespace(output_settings=settings)), name
        )
    assert described == ["plain", "without progress", "for a plugin"]


class Named:
    def method(self, wildcards, attempt):
        """Nothing."""


@pytest.mark.parametrize(
    "function", [lambda wildcards: 1, lambda wildcards, *, threads: 1, Named().method]
)
def test_remembered_signatures(function):
    snakemake_parts.remember_pure_functions()
    for _ in range(2):
        for module in (common, rules):
            assert module.get_function_params(function) == inspect.signature(function).parameters


def test_remembered_uris():
    snakemake_parts.remember_pure_functions()
    for _ in range(2):
        assert common.parse_uri("workflow/scripts/train.py").scheme == "file"
        assert common.parse_uri("https://example.org/a.py").scheme == "https"
        with pytest.raises(NotImplementedError):
            common.parse_uri("unknown:a.py")


def test_rules_share_directives_in_the_order_given():
    made = SimpleNamespace()
    made.rule = lambda name=None, lineno=None, snakefile=None, checkpoint=False: (
        lambda directives: (name, checkpoint, directives)
    )
    shared = {"train": [lambda known: [*known, "log"], lambda known: [*known, "conda"]]}
    snakemake_parts.share_directives(made, lambda name, file, is_local: shared.get(name, []))
    assert made.rule("train", 1, "a.smk")(["run"]) == ("train", False, ["run", "log", "conda"])
    assert made.rule("other", 2, "a.smk", checkpoint=True)([]) == ("other", True, [])
    expected = [*inspect.signature(snakemake.api.Workflow.rule).parameters][1:]
    assert [*inspect.signature(made.rule).parameters] == expected


@pytest.mark.parametrize(("jobs", "span", "kept"), [(100, "1s", False), (50, "1m", True)])
def test_only_the_limit_that_nobody_asked_for_is_lifted(jobs, span, kept):
    limiter, looks = JobRateLimiter(MaxJobsPerTimespan(jobs, span)), []
    scheduler = SimpleNamespace(job_rate_limiter=limiter)
    scheduler._schedule_reevalutation = lambda delay: looks.append(delay)
    snakemake_parts.start_jobs_as_asked(SimpleNamespace(scheduler=scheduler))
    assert (scheduler.job_rate_limiter is not None) == kept
    # As after each of three jobs, of which the last one ends when the first look is over.
    for delay in (0.2, 0.2):
        scheduler._schedule_reevalutation(delay)
    time.sleep(0.3)
    scheduler._schedule_reevalutation(0.2)
    assert looks == ([0.2, 0.2] if kept else [0.2, 0.2, 0.2])


def job(rule, **wildcards):
    named = Wildcards(fromdict=wildcards)
    rule = SimpleNamespace(name=rule)
    return SimpleNamespace(rule=rule, name=rule.name, wildcards=named, is_group=lambda: False)


def group(*jobs):
    """A job of Snakemake's for several, which has no rule."""
    return SimpleNamespace(name="run_embed_train", jobs=jobs, is_group=lambda: True)


@pytest.fixture
def executor(tmp_path, capsys):
    """What the plugin for Slurm has replaced, and lists of what it reports."""
    snakemake_parts.say_what_slurm_says(tmp_path)
    assert capsys.readouterr().err == ""
    found = SimpleNamespace(errors=[], lines=[], slurm_logdir=tmp_path)
    found.logger = SimpleNamespace(error=found.lines.append)
    found._report_job_error_threadsafe = lambda info, msg: found.errors.append((info.job, msg))
    return found


def test_jobs_of_a_cluster_are_named_as_their_logs_are(executor, tmp_path):
    assert slurm._select_logdir(None) == tmp_path
    seeds = [job("train", run=f"a/seed{seed}") for seed in range(3)]
    assert slurm.get_job_wildcards(group(job("embed", run="a/seed0"), seeds[0])) == "a/seed0"
    assert slurm.get_job_wildcards(group(*seeds)) == "a/seed0-and-2-more"
    measure = job("measure", run="a/seed0", measure="density")
    assert slurm.get_job_wildcards(group(measure, seeds[0])) == "a/seed0"
    data = job("pack", data="a", size=32, mode="rgb"), job("index", data="a")
    assert slurm.get_job_wildcards(group(*data)) == "a"
    assert slurm.get_job_wildcards(job("pack", data="a", size=32, mode="rgb")) == "a-32-rgb"
    assert slurm.get_job_wildcards(job("another", one="a", two="b/c")) == "a_b_c"


def test_a_group_asks_for_what_its_largest_job_needs_and_for_all_their_time():
    def member(**resources):
        return SimpleNamespace(resources=resources, pipe_group=None)

    train = member(_cores=4, gpu=1, mem_mb=16000, runtime=60)
    embed = member(_cores=4, gpu=1, mem_mb=9000, runtime=30)
    measure = member(_cores=1, mem_mb=8000, runtime=15)
    levels = [[train], [embed, embed], [measure, measure]]
    snakemake_parts.run_groups_in_turn(lambda gpus, mem_mb: 1000 - 880 * gpus)
    ask = snakemake_resources.GroupResources.basic_layered
    found = ask(levels, snakemake_resources.Resources({}), False, ["runtime"])
    assert (found["_cores"], found["gpu"], found["mem_mb"], found["runtime"]) == (4, 1, 16000, 120)
    assert ask(levels[2:], snakemake_resources.Resources({}), False)["runtime"] == 30


def test_an_error_before_a_group_is_submitted_is_reported(executor, tmp_path):
    executor.slurm_logdir = tmp_path / "file"
    executor.slurm_logdir.touch()
    of_run = group(job("train", run="a"))
    slurm.Executor.run_job(executor, of_run)
    ((failed, why),) = executor.errors
    assert failed is of_run
    assert "File exists" in why


def test_what_slurm_says_of_a_group_is_printed_without_its_command(executor):
    of_run = slurm.SubmittedJobInfo(group(job("train", run="a/seed0")))
    said = (
        "SLURM sbatch failed. The error message was 'no'.\n    sbatch call:\n        sbatch --wrap"
    )
    slurm.Executor.print_job_error(executor, of_run, said)
    name = "dmlbench: run_embed_train a/seed0"
    assert executor.lines == [
        f"{name} was not submitted: SLURM sbatch failed. The error message was 'no'."
    ]


def test_a_terminal_that_is_not_snakemakes_own_is_left_alone():
    logger = logging.Logger("of a plugin")
    logger.addHandler(logging.NullHandler())
    assert snakemake_parts.take_over_terminal(logger, lambda record: False) is None
    assert logger.handlers[0].filters == []


def test_no_other_file_of_the_library_knows_snakemake():
    wrong = []
    for file in (REPOSITORY / "workflow" / "scripts" / "dmlbench").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            named += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            wrong += [file.name for name in named if name.partition(".")[0] == "snakemake"]
    assert not wrong
