"""The training loop: what a spec says is what happens."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from dmlbench.errors import UserError
from dmlbench.machine import PROVENANCE
from dmlbench.parquet import read_metadata
from dmlbench.plan.specs.spec import Spec, complete
from dmlbench.training.data import read_roles
from dmlbench.training.selection import Selection
from safetensors import safe_open
from safetensors.torch import load_file
from toy_training import GREEDY_CORESET, VALUES, equal, history, run_epoch, train, trainer


def test_a_run_leaves_spec_weights_and_history(tmp_path, toy_data):
    train(tmp_path, toy_data)
    spec = Spec.model_validate(yaml.safe_load((tmp_path / "spec.yaml").read_text()))
    assert spec == Spec.model_validate(complete(Spec.model_validate(VALUES).as_dict()))
    rows = history(tmp_path)
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4]
    assert rows[-1]["loss"] < rows[0]["loss"]
    checkpoint, *results = sorted(path.name for path in tmp_path.iterdir())
    assert re.fullmatch(r"checkpoint-[0-9a-f]{16}-v\d+\.pt", checkpoint)
    assert results == [
        "history.parquet",
        "last.safetensors",
        "model.safetensors",
        "spec.yaml",
    ]


def test_the_history_says_what_the_training_ran_on(tmp_path, toy_data):
    train(tmp_path, toy_data, {"epochs": 1})
    found = json.loads(read_metadata(tmp_path / "history.parquet")[PROVENANCE])
    assert found["device"] == "cpu"
    assert found["threads"] == str(torch.get_num_threads())
    assert found["resumed"] == ""
    assert f"torch {torch.__version__.partition('+')[0]}" in found["software"]
    lock = Path(__file__).parents[2] / "requirements.lock"
    assert hashlib.sha256(lock.read_bytes()).hexdigest().startswith(found["lock"])
    assert len(found["lock"]) == 12


def test_same_seed_same_weights_another_seed_others(tmp_path, toy_data):
    one = train(tmp_path / "one", toy_data)
    assert equal(one, train(tmp_path / "two", toy_data))
    assert not equal(one, train(tmp_path / "three", toy_data, {"seed": 1}))


def test_a_loss_that_is_no_number_stops_the_run(tmp_path, toy_data):
    with pytest.raises(UserError) as error:
        train(tmp_path, toy_data, {"optimizer": {"name": "sgd", "learning_rate": 1e30}})
    message = str(error.value)
    found = re.fullmatch(
        r"loss is (?:nan|inf) in epoch \d+, iteration \d+, at learning rate 1e\+30; "
        r"ids of the batch: ([\d ]+)",
        message,
    )
    assert found, message
    train_ids = set(read_roles(toy_data.index, toy_data.split, None)["train"].ids)
    assert len(found[1].split()) == VALUES["batch_size"]
    assert set(map(int, found[1].split())) <= train_ids


def test_the_selected_epoch_is_the_best_and_the_last_is_kept(tmp_path, toy_data):
    """With a learning rate that spoils the network later, the best epoch is not the last."""
    changes = {"epochs": 6, "optimizer": {"name": "sgd", "learning_rate": 30.0}}
    train(tmp_path, toy_data, changes)
    scores = [row["recall_at_1"] for row in history(tmp_path)]
    best = 1 + int(np.argmax(scores))
    assert best < 6
    with safe_open(tmp_path / "model.safetensors", "pt") as file:
        assert json.loads(file.metadata()["dmlbench"])["epoch"] == best
    at_best = train(tmp_path / "short", toy_data, changes | {"epochs": best})
    assert equal(load_file(tmp_path / "model.safetensors"), at_best)


def test_metrics_of_every_epoch_are_in_the_history_and_change_nothing_else(tmp_path, toy_data):
    plain = train(tmp_path / "plain", toy_data)
    more = train(tmp_path / "more", toy_data, {"epoch_metrics": ["recall_at_2", "nmi", "f1"]})
    assert equal(plain, more)
    for row, longer in zip(history(tmp_path / "plain"), history(tmp_path / "more"), strict=True):
        assert longer.items() >= row.items()
        assert 0 <= longer["nmi"] <= 1
        assert longer["recall_at_2"] >= longer["recall_at_1"]


def test_last_epoch_selects_the_last(tmp_path, toy_data):
    last = train(tmp_path, toy_data, {"selection": "last_epoch"})
    assert equal(load_file(tmp_path / "model.safetensors"), last)


def test_validation_selection_needs_validation_images(tmp_path, toy_data):
    with pytest.raises(UserError, match="best_validation_epoch: the split has no validation"):
        train(tmp_path, toy_data, {"selection": "best_validation_epoch"})


def test_evaluation_every_n_epochs_and_at_the_end(tmp_path, toy_data):
    train(tmp_path, toy_data, {"epochs": 5, "evaluate_every": 2})
    evaluated = [row["epoch"] for row in history(tmp_path) if row["recall_at_1"] is not None]
    assert evaluated == [2, 4, 5]


def test_patience_ends_a_run_that_does_not_improve(tmp_path, toy_data):
    frozen = {"name": "sgd", "learning_rate": 1e-30}
    train(tmp_path, toy_data, {"epochs": 50, "patience": 3, "optimizer": frozen})
    assert len(history(tmp_path)) == 4


def test_an_untrained_network_is_scored_as_it_is(tmp_path, toy_data):
    untrained = train(tmp_path, toy_data, {"loss": None, "epochs": 0})
    assert equal(untrained, trainer(toy_data).network.state_dict())
    assert [row["epoch"] for row in history(tmp_path)] == [0]


def test_only_head_and_loss_learn_during_warm_up(toy_data):
    running = trainer(toy_data, {"warmup_epochs": 1})
    before = {k: v.clone() for k, v in running.network.named_parameters()}
    proxies = running.objective.loss.proxies.detach().clone()
    run_epoch(running)
    moved = {k for k, v in running.network.named_parameters() if not torch.equal(v, before[k])}
    assert moved == {"head.weight", "head.bias"}
    assert not torch.equal(running.objective.loss.proxies, proxies)
    run_epoch(running)
    moved = {k for k, v in running.network.named_parameters() if not torch.equal(v, before[k])}
    assert moved == set(before)


@pytest.mark.parametrize("frozen", ["none", "statistics", "affine", "both"])
def test_what_is_frozen_of_batchnorm_stays_and_the_rest_moves(toy_data, frozen):
    running = trainer(toy_data, {"frozen_batchnorm": frozen, "warmup_epochs": 1})
    before = {name: tensor.clone() for name, tensor in running.network.state_dict().items()}
    for _ in range(2):
        run_epoch(running)
    after = running.network.state_dict()
    stays = {
        part: torch.equal(
            before[f"backbone.blocks.0.1.{part}"], after[f"backbone.blocks.0.1.{part}"]
        )
        for part in ("running_mean", "running_var", "weight", "bias")
    }
    statistics, affine = frozen in ("statistics", "both"), frozen in ("affine", "both")
    assert stays == {
        "running_mean": statistics,
        "running_var": statistics,
        "weight": affine,
        "bias": affine,
    }
    assert not torch.equal(
        before["backbone.blocks.0.0.weight"], after["backbone.blocks.0.0.weight"]
    )


def test_iterations_per_epoch_are_counted_and_continue_the_stream(toy_data):
    """Epochs of any length cut the same stream of batches."""
    seen = {}
    for length in (3, 7):
        running = trainer(toy_data, {"iterations_per_epoch": length})
        seen[length] = [
            batch.rows.tolist()
            for epoch in range(1, 22 // length + 1)
            for batch, _, _ in running.batches.epoch(epoch, torch.Generator())
        ]
    assert seen[3][:21] == seen[7][:21]


def test_a_sampler_that_draws_from_embeddings_is_given_them(toy_data):
    running = trainer(toy_data, {"sampler": GREEDY_CORESET})
    run_epoch(running)
    run_epoch(running)
    assert running.batches.sampler.memory.known.all()


def test_reduced_precision_learns_the_same_every_time(tmp_path, toy_data):
    changes = {"precision": "bfloat16"}
    one = train(tmp_path / "one", toy_data, changes)
    assert equal(one, train(tmp_path / "two", toy_data, changes))
    assert not equal(one, train(tmp_path / "full", toy_data))
    losses = [row["loss"] for row in history(tmp_path / "one")]
    assert losses[-1] < losses[0]


@pytest.mark.slow
def test_a_compiled_network_trains_to_nearly_the_same_weights(tmp_path, toy_data):
    changes = {"epochs": 1, "iterations_per_epoch": 3}
    plain = train(tmp_path / "plain", toy_data, changes)
    compiled = train(tmp_path / "compiled", toy_data, changes | {"compile": True})
    assert plain.keys() == compiled.keys()
    for key in plain:
        torch.testing.assert_close(compiled[key], plain[key], atol=0.02, rtol=0.02)


def test_a_compiler_is_told_to_choose_kernels_by_rules_before_it_makes_any(
    tmp_path, toy_data, monkeypatch
):
    from torch._inductor import config

    seen = []

    def compiler(network):
        seen.append(config.deterministic)
        return network

    monkeypatch.setattr(config, "deterministic", False)
    monkeypatch.setattr(torch, "compile", compiler)
    train(tmp_path, toy_data, {"epochs": 1, "iterations_per_epoch": 1, "compile": True})
    assert seen == [True]


def test_of_epochs_with_equal_scores_the_first_is_selected():
    selection = Selection("best_test_epoch", patience=2)
    assert [selection.offer(epoch, 0.5, {}) for epoch in (1, 2, 3)] == [True, False, False]
    assert selection.epoch == 1
    assert selection.is_over
