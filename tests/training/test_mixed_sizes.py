"""Photographs keep their proportions when packed; training crops them, reproducibly."""

import io
import zipfile

import numpy as np
import pytest
from dmlbench.data.index import index as make_index
from dmlbench.data.pack import pack
from dmlbench.data.split import split
from dmlbench.errors import UserError
from PIL import Image
from toy_data import ToyData
from toy_training import equal, history, train

CHANGES = {
    "transforms": {
        "train": [
            {"name": "random_resized_crop", "size": 14, "scale": [0.5, 1.0]},
            "random_horizontal_flip",
            {"name": "color_jitter", "brightness": 0.2},
        ],
        "test": [{"name": "resize", "size": 15}, {"name": "center_crop", "size": 14}],
    }
}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Twelve classes of eight stripes each, of many proportions, packed with a side of 16."""
    folder = tmp_path_factory.mktemp("mixed")
    generator = np.random.default_rng(0)
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        for label in range(12):
            for number in range(8):
                height, width = generator.integers(16, 40, 2)
                stripes = 128 + 100 * np.sin(np.arange(width) * (label + 1) / 4)
                noise = generator.integers(-25, 25, (height, width))
                buffer = io.BytesIO()
                Image.fromarray((stripes + noise).astype(np.uint8)).save(buffer, "PNG")
                archive.writestr(f"{label:02}/{number}.png", buffer.getvalue())
    data = ToyData(*(folder / name for name in ("index", "split", "p.npy", "p.parquet")))
    make_index([folder / "a.zip"], "class_folders", data.index)
    split(data.index, "half", data.split)
    pack(data.index, [folder / "a.zip"], 16, "gray", data.pixels, data.pixel_table)
    return data


def test_images_of_several_sizes_train_and_repeat(tmp_path, mixed):
    first = train(tmp_path / "first", mixed, CHANGES)
    assert equal(first, train(tmp_path / "again", mixed, CHANGES))
    assert not equal(first, train(tmp_path / "other", mixed, CHANGES | {"seed": 1}))
    losses = [row["loss"] for row in history(tmp_path / "first")]
    assert losses[-1] < losses[0]


def test_without_a_crop_one_line_says_what_is_missing(tmp_path, mixed):
    with pytest.raises(UserError, match="the network needs images of one size"):
        train(tmp_path, mixed, {"transforms": {"train": []}})
