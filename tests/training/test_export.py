"""Embeddings on disk are what the network gives, and scores are made of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from dmlbench.data.embeddings import Embedded, read_embeddings, write_embeddings
from dmlbench.data.pixels import Pixels
from dmlbench.evaluation.run_scores import write_scores
from dmlbench.networks.embedder import Embedder
from dmlbench.plan.specs.spec import Spec
from dmlbench.statistics.aggregation import SCORES
from dmlbench.training.data import read_roles
from dmlbench.training.export import export_embeddings
from safetensors.torch import load_file
from toy_training import VALUES, history, train


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
    assert set(schema.metadata) == {b"spec", b"model", b"last", b"split", b"code"}
    found = read_embeddings(output)
    assert list(found) == ["best_test_epoch", "last_epoch"]

    assert list(found["last_epoch"]) == ["test"]
    ids, labels, vectors = found["last_epoch"]["test"]
    test = read_roles(toy_data.index, toy_data.split, None)["test"]
    np.testing.assert_array_equal(ids, test.ids)
    np.testing.assert_array_equal(labels, test.labels)
    network = Embedder(Spec.model_validate(VALUES))
    network.load_state_dict(load_file(tmp_path / "last.safetensors"))
    images = Pixels(toy_data.pixels, toy_data.pixel_table).batch(ids)
    with torch.no_grad():
        expected = network.eval()(images / 255).numpy()
    np.testing.assert_allclose(vectors, expected, atol=1e-6)


def test_scores_are_long_and_carry_their_selection(tmp_path):
    angles = np.array([0.0, 0.1, 2.0, 2.1, 0.25])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    labels = np.array([0, 0, 1, 1, 1])
    shuffled = vectors[[0, 2, 1, 3, 4]]
    ids = np.arange(5)
    write_embeddings(
        tmp_path / "e.parquet",
        {
            "best_test_epoch": {
                "test": Embedded(ids, labels, vectors),
                "validation": Embedded(ids[:4], labels[:4], vectors[:4]),
            },
            "last_epoch": {"test": Embedded(ids, labels, shuffled)},
        },
        {},
    )
    write_scores(
        embeddings=tmp_path / "e.parquet",
        metrics=["recall_at_1", "recall_at_2"],
        threads=1,
        output=tmp_path / "scores.parquet",
        queries=tmp_path / "queries.parquet",
    )
    rows = pd.read_parquet(tmp_path / "scores.parquet")
    assert list(rows.columns) == SCORES.names
    values = rows.set_index(["role", "selection", "metric"])["value"]
    # Nearest to 0.25 is 0.1, of the other class; all others have a neighbor of their own.
    assert values["test", "best_test_epoch", "recall_at_1"] == 4 / 5
    assert values["validation", "best_test_epoch", "recall_at_1"] == 1
    assert values["test", "last_epoch", "recall_at_1"] == 1 / 5


def test_queries_are_scored_against_the_gallery(tmp_path, toy_data):
    """Trained, embedded and scored on a split whose test images are queries and gallery."""
    split = pq.read_table(toy_data.split).to_pandas()
    held_out = split.index[split.role == "test"]
    split.loc[held_out[::4], "role"] = "query"
    split.loc[split.role == "test", "role"] = "gallery"
    split.to_parquet(tmp_path / "split.parquet", index=False)
    data = replace(toy_data, split=tmp_path / "split.parquet")
    train(tmp_path, data)
    export_embeddings(
        VALUES,
        model=tmp_path / "model.safetensors",
        last=tmp_path / "last.safetensors",
        **data.as_arguments(),
        device="cpu",
        threads=1,
        output=tmp_path / "e.parquet",
    )
    output = tmp_path / "scores.parquet"
    write_scores(
        embeddings=tmp_path / "e.parquet",
        metrics=["recall_at_1"],
        threads=1,
        output=output,
        queries=tmp_path / "queries.parquet",
    )
    scores = pd.read_parquet(output).set_index(["role", "selection"])["value"]
    assert set(scores.index) == {("test", "best_test_epoch"), ("test", "last_epoch")}

    for selection, roles in read_embeddings(tmp_path / "e.parquet").items():
        query, gallery = roles["query"], roles["gallery"]
        assert len(query.labels) + len(gallery.labels) == len(held_out)
        nearest = gallery.labels[(query.embeddings @ gallery.embeddings.T).argmax(axis=1)]
        assert scores["test", selection] == (nearest == query.labels).mean()
    assert scores["test", "last_epoch"] == history(tmp_path)[-1]["recall_at_1"]
    assert scores["test", "best_test_epoch"] == max(row["recall_at_1"] for row in history(tmp_path))
