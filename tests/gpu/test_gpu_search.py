"""A search's worker and experiments where there is a GPU: the CPU's trials and tables."""

import numpy as np
import pandas
import pyarrow.parquet as pq
import pytest
from dmlbench.data.split import split
from dmlbench.experiments import available, build_experiment
from dmlbench.experiments import projection_toy as projections
from dmlbench.plan.specs.spec import Spec
from dmlbench.search import objective as objectives
from dmlbench.search.outcome import finalize
from dmlbench.search.worker_job import run_worker
from pretended_gpu import PretendedTensor, on_gpu, pretended_gpu
from toy_experiments import SMALL
from toy_training import VALUES, merged


@pytest.fixture(scope="module")
def data(toy_data, tmp_path_factory):
    """The toy's characters, of which some validate."""
    fixed = tmp_path_factory.mktemp("fixed") / "fixed.parquet"
    split(toy_data.index, "fixed", fixed, validation=0.5)
    return toy_data.as_arguments() | {"split": fixed, "threads": 1}


def facts():
    spec = merged(
        VALUES,
        {"split": "fixed", "selection": "best_validation_epoch", "epochs": 2, "batch_size": 8},
    )
    return {
        "strategy": {"name": "random"},
        "pruner": None,
        "budget": 2,
        "most_failed": 0.5,
        "parameters": {"loss.margin": {"low": 0, "high": 1, "step": 0.5}},
        "trial_specs": [Spec.model_validate(spec).as_dict()],
        "source": [],
        "version": 1,
    }


def trials(folder, data, device):
    given = facts()
    run_worker("mine", given, folder=folder, output=folder / "0.yaml", device=device, **data)
    outputs = {"trials": folder / "trials.parquet", "best": folder / "best.yaml"}
    finalize("mine", given, folder=folder, **outputs)
    return pq.read_table(outputs["trials"]).select(["values", "state", "validation"]).to_pylist()


def test_a_worker_finds_the_same_trials_there(tmp_path, data, monkeypatch):
    here = trials(tmp_path / "here", data, "cpu")
    seen = []
    train = objectives.train

    def watching(*given, after_epoch, **more):
        def look(trainer):
            seen.extend(type(each.data) for each in trainer.parameters)
            after_epoch(trainer)

        train(*given, after_epoch=look, **more)

    monkeypatch.setattr(objectives, "train", watching)
    with pretended_gpu():
        there = trials(tmp_path / "there", data, "cuda")
    assert set(seen) == {PretendedTensor}
    assert there == here
    assert {row["state"] for row in here} == {"complete"}


def hold(name):
    """Raise unless an experiment gives the same where there is a GPU."""
    here = build_experiment(name, **SMALL[name]).run(0)
    with pretended_gpu():
        there = build_experiment(name, **SMALL[name]).run(0)
    pandas.testing.assert_frame_equal(there.table, here.table)
    assert there.arrays.keys() == here.arrays.keys()
    for key, array in here.arrays.items():
        np.testing.assert_array_equal(there.arrays[key], array)


def test_all_experiments_are_tried_here():
    assert set(SMALL) == set(available())


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_an_experiment_is_the_same_there(name):
    hold(name)


def test_a_mistake_in_an_experiment_is_found(monkeypatch):
    """Points that go where the GPU is, and a problem that stays."""
    problem = projections.ProjectionToy.problem

    def moved(self, seed):
        found = problem(self, seed)
        return found._replace(points=on_gpu(found.points))

    with pretended_gpu():
        monkeypatch.setattr(projections.ProjectionToy, "problem", moved)
        with pytest.raises((RuntimeError, TypeError)):
            build_experiment("projection_toy", **SMALL["projection_toy"]).run(0)


def test_a_mistake_in_a_worker_is_found(tmp_path, data, monkeypatch):
    """A trial that trains on the CPU whatever it is told."""
    train = objectives.train
    monkeypatch.setattr(
        objectives, "train", lambda *given, **more: train(*given, **more | {"device": "cpu"})
    )
    with pytest.raises(AssertionError):
        test_a_worker_finds_the_same_trials_there(tmp_path, data, monkeypatch)
