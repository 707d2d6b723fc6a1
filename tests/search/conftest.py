"""Characters on which searches train, and a configuration to change."""

import shutil

import pytest
from dmlbench.data.generate import generate
from dmlbench.data.index import index as make_index
from dmlbench.data.pack import pack
from dmlbench.data.split import split
from dmlbench.training.data import read_roles
from project import CONFIG


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """Sixty printed characters, of which fifteen validate, or a quarter of thirty in four folds."""
    folder = tmp_path_factory.mktemp("searched")
    archive = folder / "toy.zip"
    paths = {
        "index": folder / "images.parquet",
        "split": folder / "fixed.parquet",
        "pixels": folder / "pixels.npy",
        "pixel_table": folder / "pixels.parquet",
    }
    generate("glyphs", archive, characters=60, images_per_character=6, size=16)
    make_index([archive], "class_folders", paths["index"])
    split(paths["index"], "fixed", paths["split"], validation=0.5)
    pack(paths["index"], [archive], 16, "gray", paths["pixels"], paths["pixel_table"])
    assert {"train", "validation", "test"} <= set(read_roles(paths["index"], paths["split"], None))
    split(paths["index"], "half4fold", folder / "folds.parquet")
    return paths | {"device": "cpu", "threads": 1}


@pytest.fixture
def folds(data):
    """The same characters in four folds."""
    return data | {"split": data["split"].with_name("folds.parquet")}


@pytest.fixture
def folder(tmp_path):
    """A copy of the project's configuration."""
    return shutil.copytree(CONFIG, tmp_path / "config")
