"""SIGKILL at 30 random moments of a piece of work: it ends with the same bytes and no others."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from dmlbench.data.generate import generate
from dmlbench.data.index import index as make_index
from dmlbench.data.pack import pack
from dmlbench.data.split import split

TESTS = Path(__file__).resolve().parents[1]
SCRIPTS = TESTS.parent / "workflow" / "scripts"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder of toy data, as killing.py names its files; packing it takes a moment."""
    folder = tmp_path_factory.mktemp("killed")
    index, half = folder / "images.parquet", folder / "half.parquet"
    generate("glyphs", folder / "toy.zip", characters=20, images_per_character=40, size=16)
    make_index([folder / "toy.zip"], "class_folders", index)
    split(index, "half", half)
    pixels = folder / "pixels.npy"
    pack(index, [folder / "toy.zip"], 16, "gray", pixels, pixels.with_suffix(".parquet"))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("work", ["train", "pack", "embed", "search"])
def test_what_is_killed_loses_nothing(data, tmp_path, work):
    (tmp_path / "data").symlink_to(data)
    paths = (SCRIPTS, TESTS, TESTS / "training", TESTS / "search", TESTS / "faults")
    done = subprocess.run(
        [sys.executable, str(TESTS / "faults" / "killing.py"), work, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"30 killed, \d+ finished, nothing lost\n", done.stdout)
