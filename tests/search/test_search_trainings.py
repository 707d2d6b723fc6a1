"""Searches whose trials are trainings."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from dmlbench.errors import UserError
from dmlbench.plan.spec import Spec
from dmlbench.search.jobs import run_worker, sum_up
from dmlbench.search.objective import TrainingObjective
from dmlbench.training.data import read_roles

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow" / "scripts"
SPEC = {
    "dataset": "glyphs",
    "network": {
        "backbone": {"name": "convnet", "widths": [8, 8]},
        "pooling": "average",
        "pixels": 16,
        "mode": "gray",
        "mean": [0.5],
        "std": [0.5],
    },
    "embedding_dim": 8,
    "loss": {"name": "proxy_anchor", "margin": 0.1, "alpha": 32},
    "miner": None,
    "sampler": {"name": "class_balanced", "images_per_class": 4},
    "split": "fixed",
    "fold": None,
    "seed": 0,
    "epochs": 3,
    "iterations_per_epoch": 3,
    "batch_size": 20,
    "optimizer": {"name": "adamw", "learning_rate": 0.003},
    "selection": "best_validation_epoch",
}
MARGIN = {"low": 0, "high": 1, "step": 0.5, "open": False}


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """Sixty printed characters, of which fifteen validate."""
    from dmlbench.data.generate import generate
    from dmlbench.data.index import index as make_index
    from dmlbench.data.pack import pack
    from dmlbench.data.split import split

    folder = tmp_path_factory.mktemp("searched")
    archive = folder / "toy.zip"
    paths = {
        "index": folder / "images.parquet",
        "split": folder / "fixed.parquet",
        "pixels": folder / "pixels.npy",
        "pixel_table": folder / "pixels.parquet",
    }
    generate("glyphs", archive, characters=60, images_per_character=6, size=16)
    make_index([archive], "class_folders", paths["index"])
    split(paths["index"], "fixed", paths["split"], validation=0.5)
    pack(paths["index"], [archive], 16, "gray", paths["pixels"], paths["pixel_table"])
    assert {"train", "validation", "test"} <= set(read_roles(paths["index"], paths["split"], None))
    return paths | {"device": "cpu", "threads": 1}


def facts(changes=None, trial=None, strategy="random", budget=4, pruner=None):
    tuned = Spec.model_validate(SPEC | (changes or {})).as_dict()
    return {
        "strategy": {"name": strategy},
        "pruner": pruner,
        "budget": budget,
        "workers": 1,
        "parameters": {"loss.margin": MARGIN},
        "run": "glyphs/convnet3/d8/proxy_anchor/glyphs/fixed/seed0",
        "tuned_spec": tuned,
        "trial_spec": Spec.model_validate(tuned | (trial or {})).as_dict(),
        "code": [],
    }


def searched(folder, data, given):
    """Run a search with one worker; returns its rows of trials, best and scores."""
    run_worker(given, folder=folder, output=folder / "workers" / "0.yaml", **data)
    outputs = {
        "trials": folder / "trials.parquet",
        "best": folder / "best.yaml",
        "scores": folder / "scores.parquet",
    }
    sum_up("mine", given, folder=folder, arguments=data, metrics=["recall_at_1"], **outputs)
    return (
        pq.read_table(outputs["trials"]).to_pylist(),
        yaml.safe_load(outputs["best"].read_text()),
        pq.read_table(outputs["scores"]).to_pylist(),
    )


def test_the_best_trials_network_is_kept_and_scored(tmp_path, data):
    trials, best, scores = searched(tmp_path, data, facts(strategy="coordinate"))
    assert [row["values"] for row in trials] == [f'{{"loss.margin": {m}}}' for m in (0.0, 0.5, 1.0)]
    assert {row["state"] for row in trials} == {"complete"}
    top = max(trials, key=lambda row: (row["validation"], -row["number"]))
    assert (best["trial"], best["validation"]) == (top["number"], top["validation"])
    of_role = {row["role"]: row for row in scores if row["selection"] == "best_validation_epoch"}
    assert of_role["validation"]["value"] == pytest.approx(top["validation"], abs=1e-12)
    assert 0 < of_role["test"]["value"] < 1
    assert {row["run"] for row in scores} == {"searches/mine"}
    kept = {file.parent.name for file in tmp_path.rglob("*.safetensors")}
    assert kept == {str(top["number"])}
    assert not list(tmp_path.rglob("checkpoint-*"))


def test_short_trials_end_in_a_full_training(tmp_path, data):
    trials, best, scores = searched(tmp_path, data, facts(trial={"epochs": 1}, budget=2))
    assert {row["epochs"] for row in trials} == {1}
    assert best["spec"]["epochs"] == 3
    (tuned,) = tmp_path.glob("state-*/tuned/history.parquet")
    history = pq.read_table(tuned).to_pylist()
    assert len(history) == 3
    validation = next(row["value"] for row in scores if row["role"] == "validation")
    assert validation == pytest.approx(max(row["recall_at_1"] for row in history), abs=1e-12)


def test_another_definition_starts_anew_and_removes_the_old_one(tmp_path, data):
    searched(tmp_path, data, facts(budget=2))
    searched(tmp_path, data, facts({"epochs": 2}, budget=2))
    assert len(list(tmp_path.glob("state-*"))) == 1
    assert len(pq.read_table(tmp_path / "trials.parquet")) == 2


def test_a_larger_budget_goes_on(tmp_path, data):
    first, _, _ = searched(tmp_path, data, facts(budget=2))
    more, _, _ = searched(tmp_path, data, facts(budget=5))
    assert more[:2] == first
    assert len(more) == 5


def test_a_loss_that_is_no_number_fails_its_trial(tmp_path, data):
    optimizer = {"name": "sgd", "learning_rate": 1e30}
    with pytest.raises(UserError, match=r"no complete trial among its 2 \(2 failed\)"):
        searched(tmp_path, data, facts({"optimizer": optimizer}, budget=2))


def test_a_trial_reports_every_epoch_once(tmp_path, data):
    objective = TrainingObjective(facts()["trial_spec"], tmp_path, data)
    seen = []
    score = objective.evaluate(0, {"loss.margin": 0.5}, lambda *reported: seen.append(reported))
    assert [epoch for epoch, _ in seen] == [1, 2, 3]
    assert score == max(value for _, value in seen)


WORKER = """
import os, signal, sys, yaml
from dmlbench.search import objective
from dmlbench.search.jobs import run_worker

given, data, folder, epoch = yaml.safe_load(sys.argv[1])
train = objective.train

def killed_in_the_second_trial(spec, after_epoch, **arguments):
    def after(trainer):
        after_epoch(trainer)
        if spec["loss"]["margin"] == 0.5 and trainer.epoch == epoch:
            os.kill(os.getpid(), signal.SIGKILL)
    train(spec, after_epoch=after, **arguments)

objective.train = killed_in_the_second_trial
run_worker(given, folder=folder, output=folder + "/workers/0.yaml", **data)
"""


@pytest.mark.slow
@pytest.mark.parametrize("epoch", [1, 3])
def test_a_search_killed_in_a_training_ends_as_if_it_had_not_been(tmp_path, data, epoch):
    given = facts(strategy="coordinate")
    plain = {name: str(v) if isinstance(v, Path) else v for name, v in data.items()}
    folder = tmp_path / "killed"
    command = yaml.safe_dump([given, plain, str(folder), epoch])
    killed = subprocess.run(
        [sys.executable, "-c", WORKER, command],
        env=os.environ | {"PYTHONPATH": str(SCRIPTS), "OMP_NUM_THREADS": "1"},
    )
    assert killed.returncode == -signal.SIGKILL
    trials, best, scores = searched(folder, data, given)
    others = searched(tmp_path / "undisturbed", data, given)
    assert [row["attempts"] for row in trials] == [1, 2, 1]
    varying = {"seconds": None, "attempts": None}
    assert [row | varying for row in trials] == [row | varying for row in others[0]]
    assert (best, scores) == others[1:]
