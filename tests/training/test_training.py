"""The training loop: what a spec says is what happens, and a killed run loses nothing."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
import yaml
from dmlbench.data.pixels import Pixels
from dmlbench.errors import UserError
from dmlbench.plan.spec import Spec, merged
from dmlbench.training import loop
from dmlbench.training.checkpoint import Checkpoint
from dmlbench.training.data import read_roles
from safetensors import safe_open
from safetensors.torch import load_file

VALUES = {
    "dataset": "toy",
    "network": {
        "backbone": {"name": "convnet", "widths": [8, 8]},
        "pooling": "average",
        "pixels": 16,
        "mode": "gray",
        "mean": [0.5],
        "std": [0.5],
    },
    "embedding_dim": 8,
    "loss": {"name": "proxy_anchor"},
    "miner": None,
    "sampler": {"name": "class_balanced", "images_per_class": 4},
    "split": "half",
    "fold": None,
    "seed": 0,
    "epochs": 4,
    "batch_size": 20,
    "optimizer": {"name": "adamw", "learning_rate": 0.01},
    "transforms": {"train": [{"name": "random_affine", "degrees": 10}]},
    "selection": "best_test_epoch",
}


def outputs(folder):
    folder.mkdir(parents=True, exist_ok=True)
    return {
        "spec_file": folder / "spec.yaml",
        "model": folder / "model.safetensors",
        "last": folder / "last.safetensors",
        "history": folder / "history.parquet",
    }


def train(folder, data, changes=None, **arguments):
    """Train in a folder; returns the last weights."""
    values = merged(VALUES, changes or {})
    loop.train(
        values, **data.as_arguments(), **outputs(folder), device="cpu", threads=1, **arguments
    )
    return load_file(folder / "last.safetensors")


def trainer(data, changes=None):
    spec = Spec.model_validate(merged(VALUES, changes or {}))
    roles = read_roles(data.index, data.split, spec.fold)
    return loop.Trainer(spec, Pixels(data.pixels, data.pixel_table), roles, torch.device("cpu"))


class NoProgress:
    """A progress bar that nobody sees."""

    def update(self):
        pass

    def set_postfix(self, values):
        pass


def equal(some, others):
    return some.keys() == others.keys() and all(torch.equal(some[k], others[k]) for k in some)


def history(folder):
    return pq.read_table(folder / "history.parquet").to_pylist()


def test_a_run_leaves_spec_weights_and_history(tmp_path, toy_data):
    train(tmp_path, toy_data)
    spec = Spec.model_validate(yaml.safe_load((tmp_path / "spec.yaml").read_text()))
    assert spec == Spec.model_validate(VALUES)
    rows = history(tmp_path)
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4]
    assert rows[-1]["loss"] < rows[0]["loss"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "history.parquet",
        "last.safetensors",
        "model.safetensors",
        "spec.yaml",
    ]


def test_same_seed_same_weights_another_seed_others(tmp_path, toy_data):
    one = train(tmp_path / "one", toy_data)
    assert equal(one, train(tmp_path / "two", toy_data))
    assert not equal(one, train(tmp_path / "three", toy_data, {"seed": 1}))


class KilledError(Exception):
    """Stands for what ends a process between two epochs."""


GREEDY_CORESET = {"name": "greedy_coreset", "pool_size": 40}


@pytest.mark.parametrize(("epoch", "sampler"), [(1, {}), (3, {}), (2, GREEDY_CORESET)])
def test_a_stopped_run_continues_to_the_same_weights(tmp_path, toy_data, epoch, sampler):
    changes = {"sampler": sampler}

    def stop(running):
        if running.epoch == epoch:
            raise KilledError

    with pytest.raises(KilledError):
        train(tmp_path / "stopped", toy_data, changes, after_epoch=stop)
    assert not (tmp_path / "stopped" / "model.safetensors").exists()
    seen = []
    resumed = train(
        tmp_path / "stopped",
        toy_data,
        changes,
        after_epoch=lambda running: seen.append(running.epoch),
    )
    assert seen == list(range(epoch + 1, 5))
    assert equal(resumed, train(tmp_path / "undisturbed", toy_data, changes))
    assert history(tmp_path / "stopped") == history(tmp_path / "undisturbed")
    same = [
        (tmp_path / run / "model.safetensors").read_bytes() for run in ("stopped", "undisturbed")
    ]
    assert same[0] == same[1]


def test_a_run_killed_by_the_system_continues_to_the_same_weights(tmp_path, toy_data):
    """SIGKILL leaves no chance to tidy up; it comes in the middle of the third epoch."""
    code = f"""
        import os, signal
        from pathlib import Path
        from dmlbench.training import loop
        step, count = loop.Trainer._step, 0
        def counting(self, rows, generator):
            if self.epoch == 3:
                os.kill(os.getpid(), signal.SIGKILL)
            return step(self, rows, generator)
        loop.Trainer._step = counting
        folder = Path({str(tmp_path / "killed")!r})
        data = {{k: Path(v) for k, v in {dict(map_str(toy_data))!r}.items()}}
        loop.train({VALUES!r}, **data, device="cpu", threads=1, **{{
            "spec_file": folder / "spec.yaml", "model": folder / "model.safetensors",
            "last": folder / "last.safetensors", "history": folder / "history.parquet"}})
    """
    scripts = Path(loop.__file__).resolve().parents[2]
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=os.environ | {"PYTHONPATH": str(scripts)},
        capture_output=True,
        text=True,
    )
    assert process.returncode == -signal.SIGKILL, process.stderr
    resumed = train(tmp_path / "killed", toy_data)
    assert equal(resumed, train(tmp_path / "undisturbed", toy_data))


def map_str(data):
    return ((key, str(path)) for key, path in data.as_arguments().items())


def test_ctrl_c_leaves_nothing_half_written_and_the_checkpoint(tmp_path, toy_data, monkeypatch):
    step = loop.Trainer._step

    def interrupted(self, rows, generator):
        if self.epoch == 2:
            raise KeyboardInterrupt
        return step(self, rows, generator)

    monkeypatch.setattr(loop.Trainer, "_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path, toy_data)
    assert [path.name.split("-")[0] for path in tmp_path.iterdir()] == ["checkpoint"]
    monkeypatch.undo()
    assert equal(train(tmp_path, toy_data), train(tmp_path / "undisturbed", toy_data))


def test_a_checkpoint_of_another_spec_is_not_taken(tmp_path, toy_data):
    def stop(running):
        raise KilledError

    with pytest.raises(KilledError):
        train(tmp_path, toy_data, after_epoch=stop)
    longer = train(tmp_path, toy_data, {"optimizer": {"learning_rate": 0.02}})
    fresh = train(tmp_path / "fresh", toy_data, {"optimizer": {"learning_rate": 0.02}})
    assert equal(longer, fresh)
    assert not list(tmp_path.glob("checkpoint-*"))


def test_a_checkpoint_with_a_foreign_inside_is_refused(tmp_path):
    spec = Spec.model_validate(VALUES)
    Checkpoint(tmp_path, Spec.model_validate(merged(VALUES, {"seed": 1}))).save(epoch=1)
    (foreign,) = tmp_path.iterdir()
    foreign.rename(Checkpoint(tmp_path, spec).path)
    with pytest.raises(UserError, match=f"checkpoint of another spec; expected {spec.digest}"):
        Checkpoint(tmp_path, spec).load()


@pytest.mark.parametrize("share", [0, 0.001, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_checkpoint_is_one_line_that_names_it(tmp_path, share):
    checkpoint = Checkpoint(tmp_path, Spec.model_validate(VALUES))
    checkpoint.save(epoch=1, weights=torch.ones(100_000))
    written = checkpoint.path.read_bytes()
    checkpoint.path.write_bytes(written[: int(share * len(written))])
    with pytest.raises(UserError, match=r"checkpoint-.*: damaged checkpoint") as error:
        checkpoint.load()
    assert "\n" not in str(error.value)


def test_a_loss_that_is_no_number_stops_the_run(tmp_path, toy_data):
    with pytest.raises(UserError) as error:
        train(tmp_path, toy_data, {"optimizer": {"name": "sgd", "learning_rate": 1e30}})
    message = str(error.value)
    found = re.fullmatch(
        r"loss is (?:nan|inf) in epoch \d+, iteration \d+, at learning rate 1e\+30; "
        r"image ids of the batch: ([\d ]+)",
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
    proxies = running.loss.proxies.detach().clone()
    running.run_epoch(NoProgress())
    moved = {k for k, v in running.network.named_parameters() if not torch.equal(v, before[k])}
    assert moved == {"head.weight", "head.bias"}
    assert not torch.equal(running.loss.proxies, proxies)
    running.run_epoch(NoProgress())
    moved = {k for k, v in running.network.named_parameters() if not torch.equal(v, before[k])}
    assert moved == set(before)


@pytest.mark.parametrize("frozen", ["none", "statistics", "affine", "both"])
def test_what_is_frozen_of_batchnorm_stays_and_the_rest_moves(toy_data, frozen):
    running = trainer(toy_data, {"frozen_batchnorm": frozen, "warmup_epochs": 1})
    before = {name: tensor.clone() for name, tensor in running.network.state_dict().items()}
    for _ in range(2):
        running.run_epoch(NoProgress())
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


def test_learning_rates_follow_factors_and_schedule(toy_data):
    changes = {
        "head_factor": 10,
        "loss_factor": 100,
        "schedule": {"step": 2, "gamma": 0.1},
        "optimizer": {"learning_rate": 1e-5},
    }
    running = trainer(toy_data, changes)
    rates = []
    for _ in range(3):
        running.run_epoch(NoProgress())
        rates.append([group["lr"] for group in running.optimizer.param_groups])
    np.testing.assert_allclose(rates[0], [1e-5, 1e-4, 1e-3])
    np.testing.assert_allclose(rates[1], rates[0])
    np.testing.assert_allclose(rates[2], [1e-6, 1e-5, 1e-4])


@pytest.mark.parametrize("name", ["adamw", "adam", "rmsprop", "sgd"])
def test_every_optimizer_learns(toy_data, name):
    rate = 0.5 if name == "sgd" else 0.01
    running = trainer(toy_data, {"optimizer": {"name": name, "learning_rate": rate}})
    for _ in range(6):
        running.run_epoch(NoProgress())
    assert running.history[-1]["loss"] < running.history[0]["loss"]


def test_iterations_per_epoch_are_counted_and_continue_the_stream(toy_data):
    """Epochs of any length cut the same stream of batches."""
    seen = {}
    for length in (3, 7):
        running = trainer(toy_data, {"iterations_per_epoch": length})
        seen[length] = [
            batch.tolist()
            for epoch in range(1, 22 // length + 1)
            for batch in loop.batches(running.sampler, epoch, length)
        ]
    assert seen[3][:21] == seen[7][:21]


def test_a_sampler_that_draws_from_embeddings_is_given_them(toy_data):
    running = trainer(toy_data, {"sampler": GREEDY_CORESET})
    running.run_epoch(NoProgress())
    running.run_epoch(NoProgress())
    assert running.sampler.memory.known.all()


def test_a_sampler_of_representatives_is_refused_until_training_pairs_them(toy_data):
    with pytest.raises(UserError, match="sampler profs: training does not pair"):
        trainer(toy_data, {"sampler": {"name": "profs", "images_per_class": 4}})


def test_a_full_disk_stops_with_one_line_and_keeps_the_last_checkpoint(
    tmp_path, toy_data, monkeypatch
):
    monkeypatch.setattr(os, "fsync", failing_after(os.fsync, 2))
    with pytest.raises(UserError, match="the disk is full"):
        train(tmp_path, toy_data)
    assert [path.name.split("-")[0] for path in tmp_path.iterdir()] == ["checkpoint"]
    monkeypatch.undo()
    assert equal(train(tmp_path, toy_data), train(tmp_path / "undisturbed", toy_data))


def failing_after(function, calls):
    """A function that works so many times and then finds the disk full."""
    counted = iter(range(calls))

    def wrapped(*arguments):
        if next(counted, None) is None:
            raise OSError(28, "No space left on device")
        return function(*arguments)

    return wrapped
