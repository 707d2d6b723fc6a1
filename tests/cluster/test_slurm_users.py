"""Two users of a real Slurm: jobs of others are left alone, and found where results are shared."""

import pytest
from slurm_project import GROUP, METHOD, QUICK, slurm

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("cluster")]


@pytest.fixture
def submit(cluster):
    """A function that submits a job of another user, which is gone at the end; gives its id."""
    slurm("sacctmgr", "-i", "-Q", "add", "user", "nobody", "account=ml")
    jobs = []

    def submitted(*options: str, script: str) -> str:
        own = ("--parsable", "--uid=nobody", "-A", "ml", "-p", "gpu", "-t", "5", "--mem=100")
        jobs.extend(slurm("sbatch", *own, "-D", "/", *options, "--wrap", script))
        return jobs[-1]

    yield submitted
    slurm("scancel", *jobs)
    slurm("sacctmgr", "-i", "-Q", "delete", "user", "nobody", "account=ml")


def test_a_run_waits_for_another_users_job_and_leaves_it_alone(tmp_path, prepared, submit):
    project = prepared(tmp_path, QUICK)
    theirs = submit("--gres=gpu:1", "-o", "/dev/null", script="sleep 30")
    call = project.on_slurm(project.scores(METHOD))
    assert call.wait() == 0, call.output
    assert [job.state for job in call.jobs()] == ["COMPLETED"]
    assert slurm("sacct", "-XnP", "-j", theirs, "--format=State") == ["COMPLETED"]


def test_what_another_user_has_left_in_shared_results_is_found(tmp_path, prepared, submit, down):
    project = prepared(tmp_path, QUICK)
    results, run = project.folder / "results", project.path(METHOD)
    logs = results / "logs" / "slurm"
    logs.mkdir(parents=True)
    theirs = submit("-J", "dmlbench_1", "-o", f"{logs}/group_{GROUP}/{run}/%j.log", script="true")
    for mode, is_found in ((0o755, False), (0o775, True)):
        results.chmod(mode)
        status = project.snakemake("--cores", "1", "status")
        assert status.wait() == 0
        assert (f"waiting  train {run}: Slurm job {theirs}" in status.output) == is_found
