"""Two calls on one results folder, killed calls, damaged results, a clock that jumps."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
import yaml
from dmlbench import provenance
from test_workflow import Workflow, bytes_of

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A workflow with one run that is trained and scored."""
    workflow = Workflow(tmp_path_factory.mktemp("workflow"))
    run = workflow.run("toy", "contrastive")
    workflow.trained = workflow.folder / run
    workflow.target = f"{run}/scores.parquet"
    workflow.snakemake(workflow.target)
    return workflow


def said(output):
    return [line for line in output.splitlines() if line.startswith("dmlbench")]


def started(workflow, rule):
    """A call of which a job of a rule has begun its log."""
    call = subprocess.Popen(
        [sys.executable, "-m", "snakemake", "--cores", "2", workflow.target],
        cwd=workflow.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while not (workflow.results / "logs" / rule).exists():
        assert call.poll() is None, "ended before it was killed"
        time.sleep(0.01)
    return call


@contextlib.contextmanager
def killed_at(workflow, rule):
    """A call stopped, with its jobs, when the rule's log appeared; killed at the end."""
    call = started(workflow, rule)
    os.killpg(call.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.killpg(call.pid, signal.SIGKILL)
        call.wait()


def test_the_same_command_continues_wherever_calls_were_killed(finished, tmp_path):
    before = bytes_of(finished.trained)
    for made in ("data", "runs", "logs"):
        shutil.rmtree(finished.results / made)
    with killed_at(finished, "index"):
        pass
    with killed_at(finished, "train"):
        # While it runs, no other call may touch its results, from this working folder or another.
        second = Workflow(tmp_path)
        (tmp_path / "results").symlink_to(finished.folder / "results")
        held = bytes_of(finished.results)
        for workflow in (finished, second):
            output = workflow.snakemake(finished.target, check=False)
            (line,) = said(output)
            assert line.startswith("dmlbench: results/rehearsal: snakemake (process ")
            assert "is at work here; wait for it" in line
            assert "Traceback" not in output
        assert bytes_of(finished.results) == held
        # Planning only reads: it needs no claim. Verdicts on what there is need none that is held.
        assert "train" in finished.planned(finished.target)
        assert "defects in" in finished.snakemake("audit")
        assert (finished.results / "audit" / "all.csv").exists()
    with killed_at(finished, "embed"):
        pass
    finished.snakemake(finished.target)
    assert bytes_of(finished.trained) == before
    assert finished.planned(finished.target) == {}
    assert not list(finished.results.rglob("*.unfinished"))
    assert not list(finished.results.rglob("checkpoint-*"))


def test_sigterm_to_the_call_alone_lets_its_jobs_end_and_starts_no_more(finished):
    before = bytes_of(finished.trained)
    for made in ("runs", "logs"):
        shutil.rmtree(finished.results / made)
    call = started(finished, "train")
    call.terminate()
    assert call.wait() != 0
    assert (finished.trained / "model.safetensors").exists()
    assert not (finished.trained / "embeddings.parquet").exists()
    finished.snakemake(finished.target)
    assert bytes_of(finished.trained) == before


def test_truncated_results_are_named_removed_and_made_again(finished):
    """As after a machine crash: the newest output is lost and its inputs are damaged."""
    (pixels,) = finished.results.glob("data/*/pixels-*.npy")
    embeddings = finished.trained / "embeddings.parquet"
    before, pixels_before = bytes_of(finished.trained), pixels.read_bytes()
    for path in (pixels, embeddings):
        written = path.stat()
        os.truncate(path, written.st_size // 2)
        os.utime(path, ns=(written.st_atime_ns, written.st_mtime_ns))
    for lost in ("scores.parquet", "queries.parquet"):
        (finished.trained / lost).unlink()
    for path in (embeddings, pixels):
        line, _ = said(finished.snakemake(finished.target, check=False))
        assert f"{path.relative_to(finished.folder)}: damaged or incomplete" in line
        assert "it is removed: run again, and it is made again" in line
        assert not path.exists()
    finished.snakemake(finished.target)
    assert pixels.read_bytes() == pixels_before
    assert bytes_of(finished.trained) == before


def test_a_clock_that_jumped_is_fixed_without_training(finished):
    """Files dated tomorrow look newer than the files made from them.

    Where records agree, dates do not count; without records, `--touch` orders all of them. For
    files below a megabyte, as all here, Snakemake compares the content instead. Data are identified
    by their folder, whatever their date.
    """
    (pixels,) = finished.results.glob("data/*/pixels-*.npy")
    before = bytes_of(finished.trained)
    tomorrow = time.time() + 86_400
    os.utime(pixels, (tomorrow, tomorrow))
    assert finished.planned(finished.target) == {}
    by_date = (finished.target, "--max-checksum-file-size", "0")
    assert finished.planned(*by_date) == {}
    os.utime(finished.trained / "model.safetensors", (tomorrow, tomorrow))
    assert finished.planned(*by_date) == {}
    records = finished.trained / provenance.FILE
    aside = records.rename(finished.folder / provenance.FILE)
    assert "embed" in finished.planned(*by_date)
    finished.snakemake("--touch", "--forceall", *by_date)
    assert finished.planned(*by_date) == {}
    aside.rename(records)
    assert bytes_of(finished.trained) == before


def test_a_read_only_folder_of_pictures_is_read_only(finished, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("mounting a read-only folder is not allowed here")
    photos = tmp_path / "photos"
    photos.mkdir()
    (drawn,) = (finished.results / "data" / "drawn").glob("*.zip")
    shutil.unpack_archive(drawn, photos)
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
        images = f"{workflow.data()}/images.parquet"
        workflow.snakemake(images)
        assert (workflow.folder / images).exists()
    finally:
        subprocess.run(["umount", "--lazy", str(photos)], check=True)
