"""Frozen features of real birds, and heads on them, score as measured."""

import pytest
from dmlbench import plan
from dmlbench.data.embeddings import read_embeddings
from dmlbench.data.index import index
from dmlbench.data.pack import pack
from dmlbench.data.split import split
from dmlbench.evaluation import score
from dmlbench.plan.catalogs.rows import Row
from dmlbench.training.export import export_embeddings
from dmlbench.training.extraction import extract_features
from project import CONFIG
from toy_data import ToyData
from toy_training import train_values

pytestmark = pytest.mark.evidence


@pytest.fixture(scope="module")
def loaded():
    return plan.load({"pathvars": {"results": "results"}, "studies": ["demo"]}, CONFIG)


def spec(loaded, method, embedding_dim):
    """A row of no study: birds, frozen, on the official halves of the classes."""
    where = {"dataset": "cub200_160", "network": "efficientnet_lite0_frozen", "split": "half"}
    how = {"recipe": "heads", "variant": "", "fold": None, "seed": 0}
    row = Row(study="", method=method, embedding_dim=embedding_dim, **where, **how)
    return loaded.spec(row).as_dict()


@pytest.fixture(scope="module")
def birds(shared, loaded, tmp_path_factory):
    """The features of all birds: four minutes of a core."""
    folder, datasets = tmp_path_factory.mktemp("birds"), shared / "datasets"
    archive = datasets / "cub200_160" / "cub200_160.zip"
    names = ("images.parquet", "half.parquet", "pixels.npy", "pixels.parquet")
    data = ToyData(*(folder / name for name in names))
    index([archive], "cub200", data.index)
    split(data.index, "half", data.split)
    pack(data.index, [archive], 160, "rgb", data.pixels, data.pixel_table)
    features = folder / "features.safetensors"
    extract_features(
        spec(loaded, "untrained", 512)["network"],
        pixels=data.pixels,
        pixel_table=data.pixel_table,
        weights=datasets / "weights" / "efficientnet_lite0-acf4645b.pth",
        device="cpu",
        threads=1,
        output=features,
    )
    return data.with_features(features)


@pytest.mark.parametrize(
    ("method", "embedding_dim", "expected", "tolerance"),
    [
        # Pooled features, measured with other code.
        ("raw_features", 1280, 0.456, 0.003),
        # Measured at commit 65245da.
        ("untrained", 64, 0.328, 0.01),
        ("untrained", 512, 0.440, 0.01),
        ("contrastive", 64, 0.362, 0.01),
        ("contrastive", 512, 0.472, 0.01),
        ("proxy_anchor", 512, 0.464, 0.01),
    ],
)
def test_recall_on_birds(loaded, birds, tmp_path, method, embedding_dim, expected, tolerance):
    values = spec(loaded, method, embedding_dim)
    train_values(tmp_path, birds, values)
    files = {name: tmp_path / f"{name}.safetensors" for name in ("model", "last")}
    output = tmp_path / "embeddings.parquet"
    export_embeddings(
        values, **files, **birds.as_arguments(), device="cpu", threads=1, output=output
    )
    test = read_embeddings(output)["last_epoch"]["test"]
    assert len(test.labels) == 5924
    found = score(test.embeddings, test.labels, metrics=["recall_at_1"])["recall_at_1"]
    assert found == pytest.approx(expected, abs=tolerance)
