"""Trainings that end early on a real Slurm: none is lost, repeated or another one."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file
from slurm_project import GROUP, METHOD, OVER_A_MINUTE, QUICK, SECONDS, slurm, start_slurm, until

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("cluster")]

ROOT = Path(os.environ.get("SLURM_TEST_ROOT", "/tmp/slurm-test"))
STARTING = 25
"""Seconds: a node that does not know a job of less than 20 (BatchStartTimeout and MessageTimeout)
may still be starting it."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, prepared):
    """A training of SECONDS on this machine that nothing interrupts."""
    project = prepared(tmp_path_factory.mktemp("undisturbed"), SECONDS)
    call = project.snakemake("--cores", "1", project.scores(METHOD))
    assert call.wait() == 0, call.output
    return project


@pytest.mark.slow
def test_a_job_over_its_memory_is_tried_once_more_with_twice_as_much(tmp_path, prepared):
    needs = {key: {"mem_mb": 700} for key in ("train", "embed", "evaluate")}
    project = prepared(tmp_path, QUICK, needs)
    call = project.on_slurm(project.scores(METHOD))
    assert call.wait() == 0, call.output
    first, second = call.jobs()
    assert (first.state, first.mem) == ("FAILED", "700M")
    assert (second.state, second.mem) == ("COMPLETED", "1400M")


@pytest.mark.slow
def test_a_failed_scoring_does_not_train_again(tmp_path, prepared):
    project = prepared(tmp_path, QUICK)
    script = project.folder / "workflow" / "scripts" / "evaluate.py"
    # It fails in the first of the two attempts, after the training has ended.
    once = "import pathlib; pathlib.Path('fail').exists() and pathlib.Path('fail').unlink() != 1/0"
    script.write_text(f"{script.read_text()}\n{once}\n")
    (project.folder / "fail").touch()
    call = project.on_slurm(project.scores(METHOD))
    assert call.wait() == 0, call.output
    assert [job.state for job in call.jobs()] == ["FAILED", "COMPLETED"]


@pytest.mark.slow
def test_a_training_at_its_time_limit_resumes_from_its_checkpoint(tmp_path, prepared):
    minutes = {key: {"runtime": 1} for key in ("train", "embed", "evaluate")}
    project = prepared(tmp_path / "interrupted", OVER_A_MINUTE, minutes)
    undisturbed = prepared(tmp_path / "undisturbed", OVER_A_MINUTE)
    reference = undisturbed.snakemake("--cores", "1", undisturbed.scores(METHOD))
    # The warning, two minutes before the three are over, comes 30 to 60 seconds after the start.
    call = project.on_slurm(project.scores(METHOD))
    assert call.wait() == 0, call.output
    assert "interrupted at epoch" in call.output
    first, second = call.jobs()
    assert (first.state, first.minutes) == ("FAILED", 3)
    assert (second.state, second.minutes) == ("COMPLETED", 6)
    assert reference.wait() == 0, reference.output
    assert_same_training(project, undisturbed)


def test_a_cancelled_job_is_noticed_and_tried_once_more(tmp_path, prepared):
    project = prepared(tmp_path, SECONDS)
    call = project.on_slurm(project.scores(METHOD))
    for attempt in (1, 2):
        until(f"job {attempt} trains", lambda: project.is_training(METHOD))
        (job,) = call.waiting()
        slurm("scancel", job)
        until("it is gone", lambda: job not in call.waiting())  # noqa: B023
        project.forget(METHOD)
    assert call.wait() == 1
    assert [job.state for job in call.jobs()] == ["CANCELLED", "CANCELLED"]


@pytest.mark.slow
def test_a_job_that_slurm_requeues_resumes_from_its_checkpoint(tmp_path, prepared, undisturbed):
    project = prepared(tmp_path, SECONDS)
    call = project.on_slurm(project.scores(METHOD))
    until("it trains", lambda: project.is_training(METHOD))
    (job,) = call.waiting()
    slurm("scontrol", "requeue", job)
    resume(job)
    assert call.wait() == 0, call.output
    assert [(found.id, found.state) for found in call.jobs()] == [(job, "COMPLETED")]
    assert not project.has_restarted_training(METHOD)
    assert_same_training(project, undisturbed)


@pytest.mark.slow
def test_ctrl_c_cancels_and_the_next_call_continues(tmp_path, prepared, undisturbed):
    project = prepared(tmp_path, SECONDS)
    call = project.on_slurm(project.scores(METHOD))
    until("it trains", lambda: project.is_training(METHOD))
    call.interrupt()
    assert call.wait() == 1
    until("no job is left", lambda: not call.waiting())
    assert [job.state for job in call.jobs()] == ["CANCELLED"]
    # It is at a later epoch than a run that starts over would be.
    assert project.is_training(METHOD)
    again = project.on_slurm(project.scores(METHOD))
    assert again.wait() == 0, again.output
    assert [job.rules for job in again.jobs()] == [GROUP]
    assert not project.has_restarted_training(METHOD)
    assert_same_training(project, undisturbed)


@pytest.mark.slow
def test_a_controller_that_starts_again_costs_nothing(tmp_path, prepared, cluster):
    project = prepared(tmp_path, SECONDS)
    call = project.on_slurm(project.scores(METHOD))
    until("it trains", lambda: project.is_training(METHOD))
    restart_controller(cluster)
    assert call.wait() == 0, call.output
    assert [job.state for job in call.jobs()] == ["COMPLETED"]


@pytest.mark.slow
def test_a_job_whose_node_dies_resumes_from_a_checkpoint(tmp_path, prepared, cluster, undisturbed):
    project = prepared(tmp_path, SECONDS)
    call = project.on_slurm(project.scores(METHOD))
    until("it trains", lambda: project.is_training(METHOD))
    (job,) = call.waiting()
    kill_node()
    until("Slurm expects its node to know it", lambda: has_run(job, STARTING))
    # The node comes back, and no longer knows the job.
    start_slurm(cluster)
    resume(job)
    assert call.wait() == 0, call.output
    assert [(found.id, found.state) for found in call.jobs()] == [(job, "COMPLETED")]
    assert not project.has_restarted_training(METHOD)
    assert_same_training(project, undisturbed)


@pytest.mark.slow
def test_a_preempted_job_resumes_from_its_checkpoint(tmp_path, prepared, preempting, undisturbed):
    project = prepared(tmp_path, SECONDS)
    call = project.on_slurm(project.scores(METHOD))
    until("it trains", lambda: project.is_training(METHOD))
    (job,) = call.waiting()
    urgent = ("-A", "ml", "-p", preempting, "-t", "1", "--mem=100", "--gres=gpu:1")
    slurm("sbatch", *urgent, "-o", "/dev/null", "--wrap", "true")
    resume(job)
    assert call.wait() == 0, call.output
    assert [(found.id, found.state) for found in call.jobs()] == [(job, "COMPLETED")]
    assert not project.has_restarted_training(METHOD)
    assert_same_training(project, undisturbed)


@pytest.fixture
def preempting():
    """The name of a partition whose jobs take the place of others, which Slurm requeues."""
    conf, node = ROOT / "etc" / "slurm.conf", slurm("sinfo", "-h", "-o", "%N")[0]
    before = conf.read_text()
    line = f"PartitionName=urgent Nodes={node} PriorityTier=9 PreemptMode=off MaxTime=60 State=UP"
    conf.write_text(f"{before}PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n{line}\n")
    try:
        slurm("scontrol", "reconfigure")
        yield "urgent"
    finally:
        conf.write_text(before)
        slurm("scontrol", "reconfigure")


def assert_same_training(project, undisturbed):
    """Weights and histories of a run are equal to the last bit."""
    for name in ("model.safetensors", "last.safetensors"):
        continued, trained = (load_file(p.run(METHOD) / name) for p in (project, undisturbed))
        assert all(torch.equal(continued[key], trained[key]) for key in trained)
    histories = [pq.read_table(p.run(METHOD) / "history.parquet") for p in (project, undisturbed)]
    assert histories[0] == histories[1]


def resume(job):
    """Wait until a job is in the queue again, and end the two minutes for which Slurm holds it."""
    waits = lambda: slurm("squeue", "-h", f"--job={job}", "-o", "%T") == ["PENDING"]  # noqa: E731
    until("it waits again", waits)
    slurm("scontrol", "update", f"JobId={job}", "StartTime=now")


def has_run(job, seconds):
    """Whether a job has run for longer than that, by Slurm's count (minutes:seconds)."""
    minutes, rest = slurm("squeue", "-h", f"--job={job}", "-o", "%M")[0].split(":")
    return 60 * int(minutes) + int(rest) > seconds


def kill_node():
    """Kill Slurm's daemon of the node and all processes of its jobs, as a power failure does."""
    node = psutil.Process(int((ROOT / "run" / "slurmd.pid").read_text()))
    steps = [each for each in psutil.process_iter(["name"]) if each.info["name"] == "slurmstepd"]
    dying = [node, *steps, *(child for step in steps for child in step.children(recursive=True))]
    for process in dying:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(dying)


def restart_controller(scripts):
    """End slurmctld and start it again."""
    controller = int((ROOT / "run" / "slurmctld.pid").read_text())
    os.kill(controller, signal.SIGTERM)
    until("the controller has ended", lambda: not Path(f"/proc/{controller}").exists())
    # Not checked: the job that would prove it needs the GPU that our job has.
    start_slurm(scripts)
    until("it answers", lambda: subprocess.run(["scontrol", "ping"]).returncode == 0)
