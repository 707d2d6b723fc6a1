"""No image of the test classes is used in a search: their pixels may be arbitrary."""

import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dmlbench.data.pixels import Pixels
from test_search_trainings import FOLDS, facts, searched


def of_role(folds, *roles):
    """Ids of the images that have one of the roles in any of the searched folds."""
    rows = pq.read_table(folds["split"]).to_pylist()
    return {row["image_id"] for row in rows if row["fold"] in FOLDS and row["role"] in roles}


def poisoned(folds, folder, ids):
    """The same data, but for noise instead of the pixels of these images."""
    flat = np.load(folds["pixels"]).copy()
    table = pq.read_table(folds["pixel_table"]).to_pylist()
    noise = np.random.default_rng(0)
    for row in table:
        size = row["height"] * row["width"] * row["channels"]
        if row["image_id"] in ids:
            here = slice(row["offset"], row["offset"] + size)
            flat[here] = noise.integers(0, 256, size)
            row["crc32"] = zlib.crc32(flat[here])
    folder.mkdir()
    np.save(folder / "pixels.npy", flat)
    schema = pq.read_schema(folds["pixel_table"])
    pq.write_table(pa.Table.from_pylist(table, schema), folder / "pixels.parquet")
    return folds | {"pixels": folder / "pixels.npy", "pixel_table": folder / "pixels.parquet"}


@pytest.fixture
def given():
    return facts(strategy="random", budget=2, folds=FOLDS)


def outcome(folder, data, given):
    """Trials without their times, and best.yaml."""
    trials, best = searched(folder, data, given)
    return [row | {"seconds": None} for row in trials], best


def test_a_search_finds_the_same_with_poisoned_test_images(tmp_path, folds, given):
    tested = of_role(folds, "test")
    assert tested
    assert tested.isdisjoint(of_role(folds, "train", "validation"))
    other = poisoned(folds, tmp_path / "poison", tested)
    assert outcome(tmp_path / "a", folds, given) == outcome(tmp_path / "b", other, given)


@pytest.mark.parametrize("role", ["train", "validation"])
def test_other_poison_would_have_been_noticed(tmp_path, folds, given, role):
    other = poisoned(folds, tmp_path / "poison", of_role(folds, role))
    assert outcome(tmp_path / "a", folds, given) != outcome(tmp_path / "b", other, given)


def test_a_search_asks_for_no_test_image(tmp_path, folds, given, monkeypatch):
    asked, batch = set(), Pixels.batch

    def noted(self, ids):
        asked.update(np.asarray(ids).tolist())
        return batch(self, ids)

    monkeypatch.setattr(Pixels, "batch", noted)
    searched(tmp_path, folds, given)
    assert asked.isdisjoint(of_role(folds, "test"))
    assert of_role(folds, "validation") <= asked
