"""A study on a real Slurm: what is submitted, with which needs, and where it may write."""

import os
import shutil
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import pytest
from slurm_project import METHOD, QUICK, STUDY, Project, slurm, until

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("cluster")]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A study that has run, with the profile's short name."""
    project = Project(
        tmp_path_factory.mktemp("finished"), QUICK, study={"measures": ["training_structure"]}
    )
    call = project.on_slurm("toy", profile="slurm")
    assert call.wait() == 0, call.output
    return project, call


def test_a_study_runs_with_a_job_for_each_run_and_one_for_its_data(finished):
    project, call = finished
    assert (project.folder / "results/report.html").exists()
    jobs = call.jobs()
    of_run = "run_embed_embed_train_evaluate_measure_train"
    assert [job.rules for job in jobs] == ["data_draw_index_pack", of_run, of_run, "neighbors"]
    assert {job.state for job in jobs} == {"COMPLETED"}
    data, *runs, _ = jobs
    assert data.what == project.plan.data("glyphs").folder
    assert {job.what for job in runs} == {
        project.path(method) for method in ("contrastive", "proxy_anchor")
    }


def test_a_run_asks_for_one_gpu_and_the_sum_of_its_times(finished):
    _, call = finished
    (data, *runs, neighbors) = call.jobs()
    assert (data.gpus, data.minutes, data.mem) == (0, 3 * 10, "2000M")
    assert neighbors.gpus == 0
    for job in runs:
        # Two of its five jobs could run beside each other, with a GPU each.
        assert (job.gpus, job.minutes, job.mem) == (1, 5 * 10, "2000M")


def test_nothing_is_left_to_do_and_nothing_is_left_behind(finished):
    project, _ = finished
    call = project.on_slurm("toy")
    assert call.wait() == 0, call.output
    assert "Nothing to be done" in call.output
    assert call.jobs() == []
    assert not list((project.folder / "results").rglob("checkpoint-*"))
    assert not list((project.folder / "results").rglob("*.unfinished"))


def test_a_job_asks_for_no_more_cores_than_nodes_have(tmp_path, prepared):
    project = prepared(tmp_path, QUICK)
    folder = f"results/data/{project.plan.data('glyphs').folder}"
    (project.folder / folder / "pixels-16-gray.npy").unlink()
    cores = int(slurm("sinfo", "-h", "-o", "%c")[0])
    resource = project.folder / "rules" / "data.smk"
    resource.write_text(resource.read_text().replace("threads: 4", f"threads: {cores + 1}"))
    target = f"{folder}/pixels-16-gray.npy"
    project.describe_site(partitions={})
    call = project.on_slurm(target)
    assert call.wait() == 0, call.output


@pytest.mark.slow
def test_results_may_be_on_another_file_system(tmp_path, prepared):
    other = Path("/dev/shm")
    if not os.access(other, os.W_OK) or other.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip(f"{other} is no other file system")
    project = prepared(tmp_path, QUICK)
    with tempfile.TemporaryDirectory(dir=other) as scratch:
        shutil.copytree(project.folder / "results", f"{scratch}/results")
        project.edit(
            "config/config.yaml", lambda old: old | {"pathvars": {"results": f"{scratch}/results"}}
        )
        target = project.scores(METHOD).replace("results/", f"{scratch}/results/", 1)
        call = project.on_slurm(target)
        assert call.wait() == 0, call.output
        assert Path(target).exists()
        (job,) = call.jobs()
        found = slurm("sacct", "-XnP", "-j", job.id, "--format=WorkDir")
        assert found == [str(project.folder)]
        assert not (project.folder / "results" / "runs").exists()


@pytest.mark.slow
def test_a_hundred_jobs_in_the_queue_are_submitted_at_the_profiles_rate(tmp_path, down):
    many = {f"v{n}": {"title": f"{n}", "set": {"loss": {"margin": n / 999}}} for n in range(120)}
    runs = [STUDY["runs"][0] | {"method": "contrastive", "variant": list(many)}]
    views = {"tables": {}, "tournament": None}
    project = Project(tmp_path, QUICK, study={"runs": runs, "variants": many} | views)
    project.prepare_data()
    call = project.on_slurm("results/studies/toy/scores.parquet")
    until("100 wait", lambda: len(call.waiting()) == 100)
    # No more than site.yaml says, of 120.
    time.sleep(15)
    jobs = call.jobs()
    assert len(jobs) == 100
    submitted = sorted(job.submitted for job in jobs)
    for sooner, later in pairwise(submitted[::10]):
        assert (later - sooner).total_seconds() >= 8
    status = project.snakemake("--cores", "1", "status")
    assert status.wait() == 0
    assert status.output.count("Slurm job") == 100
