"""Two calls on one results folder, killed calls, damaged results, a clock that jumps."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from test_workflow import Workflow

pytestmark = pytest.mark.workflow
RUN = "glyphs/convnet3/d4/contrastive/glyphs/half/seed0"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A workflow with one run that is trained and scored."""
    workflow = Workflow(tmp_path_factory.mktemp("workflow"))
    workflow.run = workflow.results / "runs" / RUN
    workflow.target = f"results/rehearsal/runs/{RUN}/scores.parquet"
    workflow.snakemake(workflow.target)
    return workflow


def bytes_of(folder):
    return {
        path.relative_to(folder): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".claimed" and "logs" not in path.parts
    }


def said(output):
    return [line for line in output.splitlines() if line.startswith("dmlbench")]


def test_a_second_call_says_so_in_one_line_and_touches_nothing(finished):
    before = bytes_of(finished.results)
    with open(finished.results / ".claimed", "r+") as claimed:
        fcntl.flock(claimed, fcntl.LOCK_EX)
        output = finished.snakemake(finished.target, "--forceall", check=False)
        # Planning is looking: it needs no claim.
        assert finished.planned(finished.target) == {}
    (line,) = said(output)
    assert line.startswith("dmlbench: results/rehearsal: snakemake (process ")
    assert "is at work here; wait for it" in line
    assert "Traceback" not in output
    assert bytes_of(finished.results) == before
    assert finished.planned(finished.target) == {}


def test_a_second_working_folder_on_the_same_results_is_kept_out_as_well(finished, tmp_path):
    second = Workflow(tmp_path)
    shutil.rmtree(tmp_path / "results", ignore_errors=True)
    (tmp_path / "results").symlink_to(finished.folder / "results")
    before = bytes_of(finished.results)
    with open(finished.results / ".claimed", "r+") as claimed:
        fcntl.flock(claimed, fcntl.LOCK_EX)
        output = second.snakemake(finished.target, "--forceall", check=False)
    assert len(said(output)) == 1
    assert bytes_of(finished.results) == before


@pytest.mark.parametrize("rule", ["index", "train", "embed"])
def test_the_same_command_goes_on_after_a_killed_call(finished, rule):
    """Everything is killed, Snakemake and its jobs, when the rule's log appears."""
    before = bytes_of(finished.run)
    logs = finished.results / "logs"
    for made in ("data", "splits", "runs", "logs"):
        shutil.rmtree(finished.results / made)
    call = subprocess.Popen(
        [sys.executable, "-m", "snakemake", "--cores", "2", finished.target],
        cwd=finished.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while not (logs / rule).exists():
        assert call.poll() is None, "ended before it was killed"
        time.sleep(0.01)
    os.killpg(call.pid, signal.SIGKILL)
    call.wait()
    finished.snakemake(finished.target)
    assert bytes_of(finished.run) == before
    assert finished.planned(finished.target) == {}
    assert not list(finished.results.rglob("*.unfinished"))
    assert not list(finished.results.rglob("checkpoint-*"))


@pytest.mark.parametrize(
    ("damaged", "reader"),
    [
        ("data/glyphs/images.parquet", "split"),
        ("data/glyphs/pixels-16-gray.npy", "embed"),
        ("data/glyphs/pixels-16-gray.parquet", "embed"),
        (f"runs/{RUN}/model.safetensors", "embed"),
        (f"runs/{RUN}/embeddings.parquet", "evaluate"),
    ],
)
def test_a_truncated_result_is_named_removed_and_made_anew(finished, damaged, reader):
    (path,) = finished.results.glob(damaged.replace("16-gray", "*-gray"))
    before = bytes_of(finished.run)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    outcome = finished.snakemake(finished.target, "--forcerun", reader, check=False)
    lines = said(outcome)
    assert len(lines) == 1, outcome
    assert f"{path.relative_to(finished.folder)}: damaged or incomplete" in lines[0]
    assert "it is removed: run again, and it is made anew" in lines[0]
    finished.snakemake(finished.target)
    assert path.read_bytes() == content
    assert bytes_of(finished.run) == before


def test_a_clock_that_jumped_is_mended_without_training(finished):
    """Files dated tomorrow look newer than what is made of them: `--touch` dates all in order."""
    (pixels,) = finished.results.glob("data/glyphs/pixels-*.npy")
    before = bytes_of(finished.run)
    tomorrow = time.time() + 86_400
    for path in (finished.run / "model.safetensors", finished.run / "embeddings.parquet"):
        os.utime(path, (0, 0))
    os.utime(pixels, (tomorrow, tomorrow))
    assert "train" in finished.planned(finished.target)
    finished.snakemake("--touch", finished.target)
    assert finished.planned(finished.target) == {}
    assert bytes_of(finished.run) == before


def test_a_read_only_folder_of_pictures_is_read_only(finished, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("mounting a read-only folder is not allowed here")
    photos = tmp_path / "photos"
    photos.mkdir()
    shutil.unpack_archive(finished.results / "data" / "drawn" / "glyphs.zip", photos)
    mount = ["mount", "--bind", "-o", "ro", str(photos), str(photos)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting a read-only folder is not allowed here")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(photos)], check=True)
        (tmp_path / "project").mkdir()
        workflow = Workflow(tmp_path / "project")
        config = workflow.folder / "config"
        values = yaml.safe_load((config / "config.yaml").read_text())
        del values["rehearsal"]
        (config / "config.yaml").write_text(yaml.safe_dump(values))
        datasets = yaml.safe_load((config / "datasets.yaml").read_text())
        glyphs = datasets["glyphs"]
        for key in ("generator", "images", "classes", "layout"):
            glyphs.pop(key, None)
        (config / "datasets.yaml").write_text(
            yaml.safe_dump(datasets | {"glyphs": glyphs | {"folder": str(photos)}})
        )
        images = Path(values["pathvars"]["results"]) / "data" / "glyphs" / "images.parquet"
        workflow.snakemake(str(images))
        assert (workflow.folder / images).exists()
    finally:
        subprocess.run(["umount", "--lazy", str(photos)], check=True)
