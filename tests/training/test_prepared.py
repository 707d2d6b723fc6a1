"""Embeddings written where a training ends are those that the embedding job would compute."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from dmlbench.data.embeddings import read_embeddings
from dmlbench.errors import UserError
from dmlbench.plan.catalogs.places import merged
from dmlbench.training import export, loop, prepared
from dmlbench.training.data import read_roles
from dmlbench.training.export import export_embeddings
from dmlbench.training.prepared import take_prepared
from toy_training import VALUES, train

# Weights of two epochs, so that the selections have different weights.
CHANGES = {"epochs": 3, "optimizer": {"name": "sgd", "learning_rate": 30.0}}


@pytest.fixture(scope="module")
def trained(tmp_path_factory, toy_data):
    """A folder with a trained run, and the embeddings that the training has prepared."""
    folder = tmp_path_factory.mktemp("trained")
    files = {"prepared": "prepared.parquet", "prepared_train": "train.parquet"}
    train(folder, toy_data, CHANGES, **{key: folder / name for key, name in files.items()})
    return folder


def embed(folder, data, output, *, changes=CHANGES, prepared=None, roles=None):
    """As the rule does: take what a training has prepared, or embed."""
    values = merged(VALUES, changes)
    weights = {name: folder / f"{name}.safetensors" for name in ("model", "last")}
    if not take_prepared(values, prepared=prepared, **weights, split=data.split, output=output):
        options = {"device": "cpu", "threads": 1, "roles": roles}
        export_embeddings(values, **weights, **data.as_arguments(), **options, output=output)


def copy(trained, tmp_path):
    """A copy of the prepared file, which a test may change."""
    path = tmp_path / "prepared.parquet"
    path.write_bytes((trained / "prepared.parquet").read_bytes())
    return path


def test_both_ways_give_the_same_bytes(tmp_path, toy_data, trained):
    embed(trained, toy_data, tmp_path / "computed.parquet")
    computed = (tmp_path / "computed.parquet").read_bytes()
    assert (trained / "prepared.parquet").read_bytes() == computed
    found = read_embeddings(tmp_path / "computed.parquet")
    selected, final = (found[name]["test"].embeddings for name in ("best_test_epoch", "last_epoch"))
    assert not np.array_equal(selected, final)
    embed(trained, toy_data, tmp_path / "train.parquet", roles=["train"])
    assert (trained / "train.parquet").read_bytes() == (tmp_path / "train.parquet").read_bytes()


@pytest.fixture
def embedded(monkeypatch):
    """The numbers of images that are embedded, call by call."""
    seen, embed_images = [], export.embed_images

    def seeing(spec, network, feed, image_ids):
        seen.append(len(image_ids))
        return embed_images(spec, network, feed, image_ids)

    monkeypatch.setattr(export, "embed_images", seeing)
    return seen


@pytest.mark.parametrize("selection", ["best_test_epoch", "last_epoch"])
def test_what_an_evaluation_embeds_is_not_embedded_again(tmp_path, toy_data, embedded, selection):
    changes = merged(CHANGES, {"selection": selection})
    train(tmp_path, toy_data, changes, prepared=tmp_path / "prepared.parquet")
    images = len(read_roles(toy_data.index, toy_data.split, None)["test"].ids)
    assert embedded == [images] * 3
    embed(tmp_path, toy_data, tmp_path / "computed.parquet", changes=changes)
    written = (tmp_path / "prepared.parquet").read_bytes()
    assert written == (tmp_path / "computed.parquet").read_bytes()


def test_a_training_resumed_after_its_last_epoch_embeds_again(tmp_path, toy_data, embedded):
    def stop(trainer):
        if trainer.is_over:
            raise KeyboardInterrupt

    prepared = {"prepared": tmp_path / "prepared.parquet"}
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path, toy_data, CHANGES, **prepared, after_epoch=stop)
    assert len(embedded) == 3
    train(tmp_path, toy_data, CHANGES, **prepared)
    assert len(embedded) == 5
    embed(tmp_path, toy_data, tmp_path / "computed.parquet")
    written = (tmp_path / "prepared.parquet").read_bytes()
    assert written == (tmp_path / "computed.parquet").read_bytes()


def test_the_weights_are_those_of_a_training_that_prepares_nothing(tmp_path, toy_data, trained):
    train(tmp_path, toy_data, CHANGES)
    for name in ("model.safetensors", "last.safetensors", "history.parquet"):
        assert (tmp_path / name).read_bytes() == (trained / name).read_bytes()


def test_a_prepared_file_is_moved_without_embedding(tmp_path, toy_data, trained, monkeypatch):
    monkeypatch.setattr(export, "embed_with", lambda *_: pytest.fail("embedded"))
    path = copy(trained, tmp_path)
    content = path.read_bytes()
    embed(trained, toy_data, tmp_path / "output.parquet", prepared=path)
    assert (tmp_path / "output.parquet").read_bytes() == content
    assert not path.exists()


def test_it_is_taken_without_torch(tmp_path, toy_data, trained):
    path, output = copy(trained, tmp_path), tmp_path / "output.parquet"
    code = f"""
import sys
from pathlib import Path
from dmlbench.training.prepared import take_prepared
assert take_prepared(
    {merged(VALUES, CHANGES)!r},
    prepared=Path({str(path)!r}),
    model=Path({str(trained / "model.safetensors")!r}),
    last=Path({str(trained / "last.safetensors")!r}),
    split=Path({str(toy_data.split)!r}),
    output=Path({str(output)!r}),
)
assert "torch" not in sys.modules
"""
    scripts = Path(loop.__file__).resolve().parents[2]
    environment = os.environ | {"PYTHONPATH": str(scripts)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert output.exists()


def of_another_spec(trained, toy_data, path, monkeypatch):
    return {"changes": merged(CHANGES, {"patience": 7})}


def of_other_weights(trained, toy_data, path, monkeypatch):
    other = path.parent / "other"
    train(other, toy_data, merged(CHANGES, {"seed": 1}))
    return {"folder": other}


def of_other_code(trained, toy_data, path, monkeypatch):
    monkeypatch.setattr(prepared, "library_digest", lambda: "edited")
    return {}


def damaged(trained, toy_data, path, monkeypatch):
    path.write_bytes(path.read_bytes()[:-5])
    return {}


def missing(trained, toy_data, path, monkeypatch):
    path.unlink()
    return {}


@pytest.mark.parametrize(
    "stale", [of_another_spec, of_other_weights, of_other_code, damaged, missing]
)
def test_a_stale_prepared_file_is_not_taken(tmp_path, toy_data, trained, monkeypatch, stale):
    path = copy(trained, tmp_path)
    arguments = {"folder": trained} | stale(trained, toy_data, path, monkeypatch)
    embed(**arguments, data=toy_data, output=tmp_path / "output.parquet", prepared=path)
    embed(**arguments, data=toy_data, output=tmp_path / "computed.parquet")
    written = (tmp_path / "output.parquet").read_bytes()
    assert written == (tmp_path / "computed.parquet").read_bytes()


def test_a_signal_while_it_is_prepared_leaves_a_finished_training(tmp_path, toy_data, monkeypatch):
    def signalled(*_):
        os.kill(os.getpid(), signal.SIGTERM)
        pytest.fail("continued embedding")

    monkeypatch.setattr(loop, "embed_with", signalled)
    train(tmp_path, toy_data, {"epochs": 1}, prepared=tmp_path / "prepared.parquet")
    assert (tmp_path / "last.safetensors").exists()
    assert not (tmp_path / "prepared.parquet").exists()


def test_training_images_are_embedded_on_request(tmp_path, toy_data, trained):
    embed(trained, toy_data, tmp_path / "t.parquet", roles=["train"])
    found = read_embeddings(tmp_path / "t.parquet")
    assert {selection: list(roles) for selection, roles in found.items()} == {
        "best_test_epoch": ["train"],
        "last_epoch": ["train"],
    }
    images = read_roles(toy_data.index, toy_data.split, None)["train"]
    np.testing.assert_array_equal(found["last_epoch"]["train"].image_ids, images.ids)


def test_a_role_that_the_split_lacks_is_one_line(tmp_path, toy_data, trained):
    with pytest.raises(UserError, match=r"roles: the split has no query images; allowed: \['test'"):
        embed(trained, toy_data, tmp_path / "q.parquet", roles=["query"])
