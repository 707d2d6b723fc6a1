"""A disk that is really full: one line, no partial file, and the next call continues."""

import itertools
import json
import os
import subprocess
import sys
import textwrap
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from dmlbench import files
from dmlbench.data.download import download
from dmlbench.data.embeddings import Embedded, write_embeddings
from dmlbench.data.generate import generate
from dmlbench.data.index import index
from dmlbench.data.pack import pack
from dmlbench.data.split import split
from dmlbench.errors import UserError
from dmlbench.evaluation.run_scores import write_scores
from dmlbench.presentation.style import save
from dmlbench.presentation.table import Cell, Column, Table, TableRow, write
from dmlbench.search.storage import open_study
from dmlbench.statistics.aggregation import aggregate
from dmlbench.statistics.audit import audit
from dmlbench.statistics.timings import timings
from dmlbench.statistics.tournament import write_tournament
from matplotlib.figure import Figure
from toy_training import equal, train

SCRIPTS = Path(files.__file__).resolve().parents[1]
PRINTED = SCRIPTS.parents[1] / "config" / "reference" / "psomas2020"
FORMATS = ("pdf", "svg", "png")
SCORERS = [
    *("scores", "queries", "aggregate", "runs", "timings", "tournament", "audit", "search"),
    *(f"table.{suffix}" for suffix in ("csv", "md", "tex", "html")),
    *(f"figure.{suffix}" for suffix in FORMATS),
]


def vectors(count):
    ids = np.arange(count)
    embeddings = np.random.default_rng(0).random((count, 64), np.float32)
    return {"last_epoch": {"test": Embedded(ids, ids // 4, embeddings)}}


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "toy.zip"
    generate("glyphs", path, characters=20, images_per_character=20, size=16)
    return path


def writers(tmp_path, archive, out):
    """Each write of the data's preparation, with more bytes than fit."""
    made = tmp_path / "images.parquet"
    index([archive], "class_folders", made)
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    (mirror / "file").write_bytes(bytes(200_000))
    table = out / "pixels.parquet"
    return {
        "generate": lambda: generate("glyphs", out / "toy.zip", characters=20, size=32),
        "index": lambda: index([archive], "class_folders", out / "images.parquet"),
        "split": lambda: split(made, "half", out / "half.parquet"),
        "pack": lambda: pack(made, [archive], 64, "gray", out / "pixels.npy", table),
        "embeddings": lambda: write_embeddings(out / "e.parquet", vectors(4000), {}),
        "download": lambda: download(
            "file", [], None, [str(mirror)], [], out / "raw" / "file", bytes=200_000
        ),
    }


@pytest.mark.parametrize(
    ("writer", "left"),
    [
        *itertools.product(["generate", "index", "pack", "embeddings", "download"], [0, 4096]),
        ("split", 0),
    ],
)
def test_each_write_ends_with_one_line_and_leaves_nothing(
    small_disk, tmp_path, archive, writer, left
):
    write = writers(tmp_path, archive, small_disk.folder)[writer]
    small_disk.fill(left)
    with pytest.raises(UserError, match="the disk is full; free some space and run again") as full:
        write()
    assert "\n" not in str(full.value)
    assert set(small_disk.files) <= {"ballast", "file.part"}


def scorers(tmp_path, out):
    """Each write from embeddings on, except the report."""
    embedded, scores = tmp_path / "embeddings.parquet", tmp_path / "scores.parquet"
    write_embeddings(embedded, vectors(40), {})
    scored = {"embeddings": embedded, "metrics": ["recall_at_1"], "threads": 1}
    queries = tmp_path / "queries.parquet"
    write_scores(**scored, output=scores, queries=queries)
    row = {"dataset": "toy", "network": "convnet", "embedding_dim": 3, "method": "triplet"}
    row |= {"recipe": "quick", "split": "half", "seed": 0, "run": "a-run"}
    named = {"runs": tmp_path / "runs.csv"}
    of_all = {"metric": "recall_at_1", "methods": ["triplet"], "selection": "last_epoch"}
    table = Table(
        "t", "A table", "", "Loss", (Column("r", "R@1"),), (TableRow("Triplet", (Cell(1),)),)
    )
    formats = {suffix: out / f"table.{suffix}" for suffix in ("csv", "md", "tex", "html")}
    boards = {suffix: out / f"t.{suffix}" for suffix in ("csv", "parquet")}
    return {
        "scores": lambda: write_scores(**scored, output=out / "s.parquet", queries=queries),
        "queries": lambda: write_scores(**scored, output=scores, queries=out / "q.parquet"),
        "aggregate": lambda: aggregate([row], [scores], out / "all.parquet", **named),
        "runs": lambda: aggregate([row], [scores], tmp_path / "a.parquet", runs=out / "r.csv"),
        "timings": lambda: timings({}, out / "timings.csv"),
        "tournament": lambda: write_tournament([row], [scores], **boards, **of_all),
        "audit": lambda: audit(PRINTED, tmp_path / "audit.csv", out / "audit.md"),
        **{
            f"table.{suffix}": partial(write, table, **{suffix: formats[suffix]})
            for suffix in formats
        },
        **{f"figure.{end}": partial(save, Figure(), **{end: out / end}) for end in FORMATS},
        "search": lambda: open_study(out, "a search"),
    }


@pytest.mark.parametrize("writer", SCORERS)
def test_each_result_ends_with_one_line_and_leaves_nothing(small_disk, tmp_path, writer):
    write = scorers(tmp_path, small_disk.folder)[writer]
    small_disk.fill(0)
    with pytest.raises(UserError, match="the disk is full; free some space and run again") as full:
        write()
    assert "\n" not in str(full.value)
    assert set(small_disk.files) <= {"ballast", "journal.log", "journal"}


def for_long(study):
    for _ in range(1000):
        study.tell(study.ask(), 0.5)


def test_a_trial_that_does_not_fit_is_an_error_and_no_half_line(small_disk):
    study = open_study(small_disk.folder, "a search")
    small_disk.fill(0)
    journal = small_disk.folder / "journal.log"
    with pytest.raises(UserError, match=r"journal\.log: the disk is full"):
        for_long(study)
    small_disk.free()
    before = len(open_study(small_disk.folder, "a search").trials)
    study = open_study(small_disk.folder, "a search")
    study.tell(study.ask(), 0.5)
    assert len(open_study(small_disk.folder, "a search").trials) == before + 1
    assert all(json.loads(line) for line in journal.read_text().splitlines())


def test_a_job_whose_log_has_no_room_says_so_in_one_line(small_disk):
    small_disk.fill(0)
    code = f"""
        from types import SimpleNamespace
        from dmlbench.job import job
        log = {str(small_disk.folder / "log")!r}
        config = {{"pathvars": {{"results": {str(small_disk.folder)!r}}}}}
        with job(SimpleNamespace(rule="toy", log=[log], input=[], wildcards={{}}, config=config)):
            for _ in range(10_000):
                print("one of many lines")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=os.environ | {"PYTHONPATH": str(SCRIPTS)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    expected = f"dmlbench toy: {small_disk.folder}/log: the disk is full; free some space"
    assert done.stderr.strip().startswith(expected)
    assert len(done.stderr.strip().splitlines()) == 2  # and where the log is


def test_a_training_resumes_where_the_disk_was_full(small_disk, tmp_path, toy_data):
    failures = 0
    run = small_disk.folder / "run"
    for left in itertools.count(0, 8192):
        small_disk.fill(left)
        try:
            resumed = train(run, toy_data)
        except UserError as full:
            assert "the disk is full" in str(full)  # noqa: PT017 (it must end, after some failures)
            failures += 1
        else:
            break
        small_disk.free()
        left_over = {name.partition("-")[0] for name in small_disk.files}
        whole_files = {"checkpoint", "spec.yaml", "history.parquet", "model.safetensors"}
        assert left_over <= whole_files
    assert failures > 2
    assert equal(resumed, train(tmp_path / "undisturbed", toy_data))
