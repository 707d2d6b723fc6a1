"""Embeddings on disk are what the network gives, and scores are made of them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from dmlbench.data.embeddings import read_embeddings, write_embeddings
from dmlbench.data.pixels import Pixels
from dmlbench.evaluation.run_scores import write_scores
from dmlbench.networks.embedder import Embedder
from dmlbench.plan.spec import Spec
from dmlbench.statistics.aggregation import COLUMNS
from dmlbench.training.data import read_roles
from dmlbench.training.export import export_embeddings
from safetensors.torch import load_file
from toy_training import VALUES, train

RUN = "toy/convnet2/d8/proxy_anchor/quick/half/seed0"


def test_exported_embeddings_are_the_networks(tmp_path, toy_data):
    train(tmp_path, toy_data)
    output = tmp_path / "embeddings.parquet"
    export_embeddings(
        VALUES,
        model=tmp_path / "model.safetensors",
        last=tmp_path / "last.safetensors",
        **toy_data.as_arguments(),
        device="cpu",
        threads=1,
        output=output,
    )
    schema = pq.read_schema(output)
    assert schema.field("embedding").type == pa.list_(pa.float32(), 8)
    assert set(schema.metadata) == {b"spec", b"model", b"last", b"split"}
    found = read_embeddings(output)
    assert list(found) == ["best_test_epoch", "last_epoch"]

    ids, labels, vectors = found["last_epoch"]
    test = read_roles(toy_data.index, toy_data.split, None)["test"]
    np.testing.assert_array_equal(ids, test.ids)
    np.testing.assert_array_equal(labels, test.labels)
    network = Embedder(Spec.model_validate(VALUES))
    network.load_state_dict(load_file(tmp_path / "last.safetensors"))
    images = Pixels(toy_data.pixels, toy_data.pixel_table).images(ids)
    with torch.no_grad():
        expected = network.eval()(images / 255).numpy()
    np.testing.assert_allclose(vectors, expected, atol=1e-6)


def test_scores_are_long_and_carry_their_selection(tmp_path):
    angles = np.array([0.0, 0.1, 2.0, 2.1, 0.25])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    labels = np.array([0, 0, 1, 1, 1])
    shuffled = vectors[[0, 2, 1, 3, 4]]
    write_embeddings(
        tmp_path / "e.parquet",
        np.arange(5),
        labels,
        {"best_test_epoch": vectors, "last_epoch": shuffled},
        {},
    )
    write_scores(
        RUN,
        embeddings=tmp_path / "e.parquet",
        metrics=["recall_at_1", "recall_at_2"],
        threads=1,
        output=tmp_path / "scores.parquet",
    )
    rows = pd.read_parquet(tmp_path / "scores.parquet")
    assert list(rows.columns) == list(COLUMNS)
    assert set(rows["run"]) == {RUN}
    assert set(rows["recipe"]) == {"quick"}
    values = rows.set_index(["selection", "metric"])["value"]
    # Nearest to 0.25 is 0.1, of the other class; all others have a neighbour of their own.
    assert values["best_test_epoch", "recall_at_1"] == 4 / 5
    assert values["last_epoch", "recall_at_1"] == 1 / 5
