"""What a killed call left in the queue of a real Slurm: no run is trained twice."""

import pytest
from slurm_project import METHOD, OVER_A_MINUTE, slurm, until

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("cluster")]


def test_a_run_that_a_killed_call_left_waiting_is_not_trained_twice(tmp_path, prepared, down):
    project = prepared(tmp_path, OVER_A_MINUTE)
    killed = project.on_slurm(project.scores(METHOD))
    until("it waits", killed.waiting)
    (left,) = killed.waiting()
    killed.process.kill()
    killed.wait()
    status = project.snakemake("--cores", "1", "status")
    assert status.wait() == 0
    assert f"waiting  train {project.path(METHOD)}: Slurm job {left}" in status.output
    call = project.on_slurm(project.scores(METHOD))
    until("it waits", call.waiting)
    assert killed.waiting() == []
    assert len(slurm("squeue", "-h", "-p", "gpu", "-o", "%i")) == 1
    slurm("scontrol", "update", "PartitionName=gpu", "State=UP")
    until("it trains", lambda: project.is_training(METHOD))
    call.process.kill()
    call.wait()
    (left,) = call.waiting()
    for options in ((), ("--cores", "1")):
        start = project.snakemake if options else project.on_slurm
        again = start(*options, project.scores(METHOD))
        assert again.wait() == 1
        assert f"scancel {left}" in again.output or "is at work here" in again.output
