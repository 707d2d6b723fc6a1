"""A spec with `gpus` trains in as many processes, as one process does."""

from pathlib import Path

import interrupted_training
import pytest
import torch
from dmlbench.errors import UserError
from dmlbench.plan.catalogs.places import merged
from dmlbench.plan.specs.spec import Spec
from pydantic import ValidationError
from toy_training import VALUES, equal, history, outputs, train

# Each process would draw its own random transforms.
PLAIN = {
    "transforms": {"train": []},
    "batch_size": 20,
    "epochs": 2,
    "optimizer": {"name": "sgd", "learning_rate": 0.01},
}
CASES = {
    "proxies": {"warmup_epochs": 1},
    "miner": {
        "loss": {"name": "margin"},
        "miner": {"name": "distance_weighted_pairs"},
        "regularizers": [{"name": "proximity", "weight": 0.1}],
    },
    "memory": {"loss": {"name": "contrastive"}, "memory": {"size": 50, "start": 3}},
    "sampler": {"sampler": {"name": "greedy_coreset", "pool_size": 40}},
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_two_processes_train_as_one(tmp_path, toy_data, case):
    changes = PLAIN | CASES[case]
    one = train(tmp_path / "one", toy_data, changes)
    two = train(tmp_path / "two", toy_data, changes | {"gpus": 2})
    assert one.keys() == two.keys()
    for name, weights in one.items():
        torch.testing.assert_close(two[name], weights, rtol=1e-3, atol=1e-4)
    losses = [[row["loss"] for row in history(tmp_path / folder)] for folder in ("one", "two")]
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)


@pytest.mark.slow
def test_an_interrupted_training_in_processes_ends_with_the_same_weights(
    tmp_path, toy_data, monkeypatch
):
    """With random transforms, of which a checkpoint of the first process is enough."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    changes = {"epochs": 2, "gpus": 2}
    files = {**toy_data.as_arguments(), **outputs(tmp_path / "stopped")}
    values = merged(VALUES, changes)
    with pytest.raises(UserError, match=r"^interrupted at epoch 1, iteration 2; the next call"):
        interrupted_training.train(values, **files, device="cpu", threads=1, stop_after=2)
    assert [path.name.split("-")[0] for path in (tmp_path / "stopped").iterdir()] == ["checkpoint"]
    resumed = train(tmp_path / "stopped", toy_data, changes)
    assert equal(resumed, train(tmp_path / "undisturbed", toy_data, changes))
    assert history(tmp_path / "stopped") == history(tmp_path / "undisturbed")


@pytest.mark.slow
def test_an_error_in_a_process_is_one_line(tmp_path, toy_data):
    changes = {"gpus": 2, "optimizer": {"name": "sgd", "learning_rate": 1e30}}
    with pytest.raises(UserError, match=r"^loss is (nan|inf) in epoch \d+, iteration \d+, at"):
        train(tmp_path, toy_data, changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gpus": 3}, "gpus: 3; allowed: divisors of batch_size 20"),
        ({"gpus": 2, "compile": True}, "gpus: 2: compile: true; allowed: false"),
        (
            {"gpus": 2, "regularizers": [{"name": "manifold_mixup"}]},
            "gpus: 2: regularizer manifold_mixup; allowed: any other",
        ),
    ],
)
def test_what_cannot_be_shared_is_refused(changes, message):
    with pytest.raises(ValidationError, match=message):
        Spec.model_validate(merged(VALUES, changes))


def test_one_gpu_is_the_same_training_and_two_are_another():
    digests = [Spec.model_validate(VALUES | {"gpus": gpus}).digest for gpus in (1, 2)]
    assert digests[0] == Spec.model_validate(VALUES).digest != digests[1]
    assert "gpus" not in Spec.model_validate(VALUES | {"gpus": 1}).known
