"""Fixtures shared by all tests."""

import functools
import gc
import os
import pickle
import subprocess
from pathlib import Path

import pytest
import yaml
from distribution import OnePlan
from dmlbench.data.generate import generate
from dmlbench.data.index import index as make_index
from dmlbench.data.pack import pack
from dmlbench.data.split import split
from dmlbench.plan.catalogs.read import _Loader
from hypothesis import settings
from recorded import recorded
from small_disk import Disk
from toy_data import ToyData

REPOSITORY = Path(__file__).resolve().parent.parent

# A busy machine is not a defect: examples have no deadline.
settings.register_profile("busy", deadline=None)
settings.load_profile("busy")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is imported stays: each collection of garbage would look at all of it again."""
    gc.disable()
    collected = yield
    gc.collect()
    gc.freeze()
    gc.enable()
    return collected


def pytest_unconfigure():
    gc.unfreeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """For `--dist loadfile`; None is what xdist has."""
    return OnePlan(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(scope="session", autouse=True)
def equal_yaml_is_parsed_once():
    """Hundreds of tests load the configuration, a few values of which they have changed."""
    load = yaml.load

    @functools.cache
    def pickled(text: str) -> bytes:
        return pickle.dumps(load(text, Loader=_Loader))

    def load_once(text, Loader):
        if Loader is _Loader and isinstance(text, str):
            return pickle.loads(pickled(text))
        return load(text, Loader=Loader)

    yaml.load = load_once
    yield
    yaml.load = load


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data, printed numbers and a Slurm; without it, tests are skipped."""
    folder = Path(os.environ.get("DMLBENCH_SHARED", REPOSITORY.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no {folder} with real data, printed numbers and a Slurm; set DMLBENCH_SHARED")
    return folder


@pytest.fixture(scope="session")
def toy_data(tmp_path_factory) -> ToyData:
    """A data set that trains in a second."""
    folder = tmp_path_factory.mktemp("toy")
    archive, index, half = folder / "toy.zip", folder / "images.parquet", folder / "half.parquet"
    data = ToyData(index, half, folder / "pixels.npy", folder / "pixels.parquet")
    generate("glyphs", archive, characters=20, images_per_character=8, size=16)
    make_index([archive], "class_folders", index)
    split(index, "half", half)
    pack(index, [archive], 16, "gray", data.pixels, data.pixel_table)
    return data


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """The folder of the site that `make docs` builds."""
    mkdocs = REPOSITORY / ".venv-docs" / "bin" / "mkdocs"
    if not mkdocs.exists():
        pytest.skip("no .venv-docs; `make docs` makes it")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [mkdocs, "build", "--strict", "--site-dir", folder],
        cwd=REPOSITORY,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 KiB, with as little free space as a test needs."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting a small file system is not allowed here")
    yield Disk(folder)
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def two_files(tmp_path):
    """A folder of results with records of two jobs."""
    folder = tmp_path / "runs/a"
    folder.mkdir(parents=True)
    for name in ("scores.parquet", "embeddings.parquet"):
        (folder / name).write_text(name)
        recorded(folder / name, inputs=[folder / "spec.yaml"], results=tmp_path, place="runs/a")
    return folder
