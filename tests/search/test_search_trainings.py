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
from dmlbench.plan.specs.searches import identity, trials_digest
from dmlbench.plan.specs.spec import Spec
from dmlbench.search import objective as objectives
from dmlbench.search.best import read_best
from dmlbench.search.objective import TrainingObjective
from dmlbench.search.outcome import finalize
from dmlbench.search.worker_job import run_worker
from dmlbench.training.watch import LossError

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
MARGIN = {"low": 0, "high": 1, "step": 0.5}
FOLDS = [0, 3]


def facts(changes=None, strategy="random", budget=4, pruner=None, folds=(None,)):
    specs = [Spec.model_validate(SPEC | {"fold": fold} | (changes or {})) for fold in folds]
    return {
        "strategy": {"name": strategy},
        "pruner": pruner,
        "budget": budget,
        "most_failed": 0.5,
        "parameters": {"loss.margin": MARGIN},
        "trial_specs": [spec.as_dict() for spec in specs],
        "source": [],
        "version": 1,
    }


def searched(folder, data, given):
    """Run a search with one worker; returns its rows of trials, and best.yaml."""
    run_worker("mine", given, folder=folder, output=folder / "workers" / "0.yaml", **data)
    outputs = {"trials": folder / "trials.parquet", "best": folder / "best.yaml"}
    finalize("mine", given, folder=folder, **outputs)
    rows = pq.read_table(outputs["trials"]).to_pylist()
    return rows, yaml.safe_load(outputs["best"].read_text())


def test_a_search_leaves_its_trials_and_the_best_values(tmp_path, data):
    trials, best = searched(tmp_path, data, facts(strategy="coordinate"))
    assert [row["values"] for row in trials] == [f'{{"loss.margin": {m}}}' for m in (0.0, 0.5, 1.0)]
    assert {row["state"] for row in trials} == {"complete"}
    assert {row["epochs"] for row in trials} == {3}
    top = max(trials, key=lambda row: (row["validation"], -row["number"]))
    assert best == {
        "search": "mine",
        "metric": "recall_at_1",
        "validation": top["validation"],
        "trial": top["number"],
        "trials": {"complete": 3},
        "values": {"loss.margin": top["number"] / 2},
    }
    assert read_best(tmp_path / "best.yaml") == best["values"]
    left = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    locks = {"trials", "journal", "trial0", "trial1", "trial2"}
    assert left - locks == {
        "trials.parquet",
        "best.yaml",
        "0.yaml",
        "journal.log",
        "journal.length",
    }


def test_the_score_of_a_trial_is_the_mean_of_its_folds(tmp_path, folds):
    given = facts(budget=1, folds=FOLDS)
    ((row,), best) = searched(tmp_path / "both", folds, given)
    alone = []
    for fold in FOLDS:
        spec = given["trial_specs"][FOLDS.index(fold)] | {"fold": fold}
        objective = TrainingObjective([spec], tmp_path / f"fold{fold}", folds)
        alone.append(objective.evaluate(0, best["values"], lambda *_: None))
    assert alone[0] != alone[1]
    assert row["validation"] == best["validation"] == sum(alone) / 2
    assert best["folds"] == FOLDS
    assert row["epochs"] == 6


def test_epochs_of_folds_are_reported_as_means_so_far(tmp_path, folds):
    specs = facts(folds=FOLDS)["trial_specs"]
    reported, alone = {}, []
    values = {"loss.margin": 0.5}
    TrainingObjective(specs, tmp_path / "both", folds).evaluate(0, values, reported.__setitem__)
    for position, spec in enumerate(specs):
        alone.append({})
        objective = TrainingObjective([spec], tmp_path / str(position), folds)
        objective.evaluate(0, values, alone[-1].__setitem__)
    first = max(alone[0].values())
    second = {3 + epoch: (first + score) / 2 for epoch, score in alone[1].items()}
    assert reported == alone[0] | second
    assert sorted(reported) == [1, 2, 3, 4, 5, 6]


def test_a_finished_fold_is_not_trained_again(tmp_path, folds, monkeypatch):
    specs = facts(folds=FOLDS)["trial_specs"]
    trained, train = [], objectives.train

    def lost_in_the_second_fold(spec, **arguments):
        trained.append(spec["fold"])
        if trained == FOLDS:
            raise KeyboardInterrupt
        train(spec, **arguments)

    monkeypatch.setattr(objectives, "train", lost_in_the_second_fold)
    objective = TrainingObjective(specs, tmp_path / "lost", folds)
    values, reports = {"loss.margin": 0.5}, [{}, {}]
    with pytest.raises(KeyboardInterrupt):
        objective.evaluate(0, values, reports[0].__setitem__)
    score = objective.evaluate(0, values, reports[0].__setitem__)
    assert trained == [0, 3, 3]
    undisturbed = TrainingObjective(specs, tmp_path / "undisturbed", folds)
    assert undisturbed.evaluate(0, values, reports[1].__setitem__) == score
    assert reports[0] == reports[1]


def test_a_fold_without_a_finite_loss_fails_the_trial_and_is_named(tmp_path, folds):
    optimizer = {"name": "sgd", "learning_rate": 1e30}
    specs = facts({"optimizer": optimizer}, folds=FOLDS)["trial_specs"]
    objective = TrainingObjective(specs, tmp_path, folds)
    with pytest.raises(LossError, match=r"^fold 0: loss is "):
        objective.evaluate(0, {"loss.margin": 0.5}, lambda *_: None)


def test_another_definition_has_other_trials_and_keeps_the_old_ones(tmp_path, data):
    searched(tmp_path, data, facts(budget=2))
    searched(tmp_path, data, facts({"epochs": 2}, budget=2))
    assert len(list(tmp_path.glob("state-*"))) == 2
    assert len(pq.read_table(tmp_path / "trials.parquet")) == 2


def test_a_larger_budget_continues_the_same_trials(tmp_path, data):
    first, _ = searched(tmp_path, data, facts(budget=2))
    more, _ = searched(tmp_path, data, facts(budget=5))
    assert more[:2] == first
    assert len(more) == 5
    assert trials_digest(facts(budget=2)) == trials_digest(facts(budget=5))
    assert identity(facts(budget=2)) != identity(facts(budget=5))


def test_a_loss_that_is_no_number_fails_its_trial(tmp_path, data):
    optimizer = {"name": "sgd", "learning_rate": 1e30}
    with pytest.raises(UserError, match=r"no complete trial .* 2 \(2 failed\): trial 0: loss is "):
        searched(tmp_path, data, facts({"optimizer": optimizer}, budget=2))


def test_a_trial_reports_every_epoch_once(tmp_path, data):
    objective = TrainingObjective(facts()["trial_specs"], tmp_path, data)
    seen = []
    score = objective.evaluate(0, {"loss.margin": 0.5}, lambda *reported: seen.append(reported))
    assert [epoch for epoch, _ in seen] == [1, 2, 3]
    assert score == max(value for _, value in seen)


WORKER = """
import os, signal, sys, yaml
from dmlbench.search import objective
from dmlbench.search.worker_job import run_worker

given, data, folder, fold, epoch, reported = yaml.safe_load(sys.argv[1])
train = objective.train

def killed_in_the_second_trial(spec, after_epoch, **arguments):
    def after(trainer):
        here = (spec["loss"]["margin"], spec["fold"], trainer.epoch) == (0.5, fold, epoch)
        if reported or not here:
            after_epoch(trainer)
        if here:
            os.kill(os.getpid(), signal.SIGKILL)
    train(spec, after_epoch=after, **arguments)

objective.train = killed_in_the_second_trial
run_worker("mine", given, folder=folder, output=folder + "/workers/0.yaml", **data)
"""


@pytest.mark.slow
@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize(("epoch", "reported"), [(1, True), (3, True), (3, False)])
def test_a_search_killed_in_a_training_ends_as_if_it_had_not_been(
    tmp_path, folds, fold, epoch, reported
):
    given = facts(strategy="coordinate", folds=FOLDS)
    plain = {name: str(v) if isinstance(v, Path) else v for name, v in folds.items()}
    folder = tmp_path / "killed"
    command = yaml.safe_dump([given, plain, str(folder), fold, epoch, reported])
    killed = subprocess.run(
        [sys.executable, "-c", WORKER, command],
        env=os.environ | {"PYTHONPATH": str(SCRIPTS), "OMP_NUM_THREADS": "1"},
    )
    assert killed.returncode == -signal.SIGKILL
    trials, best = searched(folder, folds, given)
    others = searched(tmp_path / "undisturbed", folds, given)
    assert [row["attempts"] for row in trials] == [1, 2, 1]
    varying = {"seconds": None, "attempts": None}
    assert [row | varying for row in trials] == [row | varying for row in others[0]]
    assert best == others[1]
