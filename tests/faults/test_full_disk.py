"""A disk that is really full: one line, nothing half-written, and the next call goes on."""

import itertools
import os
import subprocess
import sys
import textwrap
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
from toy_training import equal, train

SCRIPTS = Path(files.__file__).resolve().parents[1]


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 KiB, with as little left on it as a test asks for."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting a small file system is not allowed here")
    yield Disk(folder)
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


class Disk:
    def __init__(self, folder):
        self.folder = folder

    def fill(self, left):
        """Leave so many bytes, of 256 KiB at first."""
        with open(self.folder / "ballast", "wb") as ballast:
            used = sum(path.stat().st_blocks * 512 for path in self.folder.rglob("*"))
            ballast.write(bytes(256 * 1024 - left - used))

    def free(self):
        (self.folder / "ballast").unlink()

    @property
    def files(self):
        return sorted(path.name for path in self.folder.rglob("*") if path.is_file())


def vectors(count):
    ids = np.arange(count)
    embeddings = np.random.default_rng(0).random((count, 64), np.float32)
    return {"last_epoch": {"test": Embedded(ids, ids, embeddings)}}


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "toy.zip"
    generate("glyphs", path, characters=20, images_per_character=20, size=16)
    return path


def writers(tmp_path, archive, out):
    """Each write of the way of the data, with more bytes than fit."""
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


def test_a_job_whose_log_has_no_room_says_so_in_one_line(small_disk):
    small_disk.fill(0)
    code = f"""
        from types import SimpleNamespace
        from dmlbench.job import job
        log = {str(small_disk.folder / "log")!r}
        with job(SimpleNamespace(rule="toy", log=[log], input=[], config={{}})):
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
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_training_goes_on_where_the_disk_was_full(small_disk, tmp_path, toy_data):
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
