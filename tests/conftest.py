"""Fixtures shared by all tests."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from dmlbench.data.generate import generate
from dmlbench.data.index import index as make_index
from dmlbench.data.pack import pack
from dmlbench.data.split import split

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data and printed numbers; a test that needs it skips without."""
    folder = Path(os.environ.get("DMLBENCH_SHARED", REPOSITORY.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no folder of real data at {folder}; set DMLBENCH_SHARED")
    return folder


@dataclass(frozen=True)
class ToyData:
    """Twenty printed characters of 16 x 16 pixels, packed and split, as keyword arguments."""

    index: Path
    split: Path
    pixels: Path
    pixel_table: Path

    def as_arguments(self) -> dict[str, Path]:
        """What training and embedding take."""
        return vars(self)


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
