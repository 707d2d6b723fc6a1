"""Workers that share a search: the budget is met exactly, whichever worker is killed and when."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from dmlbench.errors import UserError
from dmlbench.search.trials import best_of
from dmlbench.search.worker import work
from dmlbench.training.watch import LossError
from optuna.trial import TrialState
from toy_search import PARAMETERS, START, Function, open_trials, search, strategy

HERE = Path(__file__).parent
SCRIPTS = HERE.parents[1] / "workflow" / "scripts"


class Workers:
    """Processes that work on one search, and the marks that they leave."""

    def __init__(self, folder):
        self.folder, self.marks = folder / "search", folder / "marks"
        self.marks.mkdir()

    def start(self, name, budget):
        paths = os.pathsep.join(map(str, (SCRIPTS, HERE)))
        return subprocess.Popen(
            [sys.executable, HERE / "toy_search.py", self.folder, name, str(budget), self.marks],
            env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def stop_in(self, *numbers):
        """Let the first worker that evaluates one of these trials hang in it."""
        for number in numbers:
            (self.marks / f"stop{number}").touch()

    @property
    def begun(self):
        """Trial number -> how often its evaluation was begun."""
        found = self.marks.glob("trial*")
        return {int(path.name[5:]): len(path.read_text().split()) for path in found}

    def states(self):
        return [trial.state for trial in open_trials(self.folder).get()]


@pytest.fixture
def workers(tmp_path):
    return Workers(tmp_path)


def finish(*processes):
    for process in processes:
        process.communicate()
        assert process.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["coordinate", "tpe", "random"])
def test_two_workers_make_exactly_the_budget(workers, name):
    finish(workers.start(name, 20), workers.start(name, 20))
    assert workers.states() == [TrialState.COMPLETE] * 20
    assert all(count == 1 for count in workers.begun.values())
    assert not list(workers.marks.glob("stop*"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["coordinate", "random"])
def test_two_workers_find_what_one_does(workers, tmp_path, name):
    finish(workers.start(name, 30), workers.start(name, 30))
    alone, _ = search(tmp_path / "alone", name, budget=30)
    together = open_trials(workers.folder)
    assert [trial.params for trial in together.get()] == [t.params for t in alone.get()]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["coordinate", "tpe"])
def test_a_killed_workers_trials_are_repeated_and_none_is_lost(workers, tmp_path, name):
    alone, _ = search(tmp_path / "alone", name, budget=24)
    killed = (0, 5, 6, 23)
    workers.stop_in(*killed)
    for _ in killed:
        process = workers.start(name, 24)
        assert process.stdout.readline() == b"stopped\n"
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert workers.states().count(TrialState.RUNNING) == 1
    finish(workers.start(name, 24))
    found = open_trials(workers.folder).get()
    assert [trial.params for trial in found] == [trial.params for trial in alone.get()]
    assert [trial.value for trial in found] == [trial.value for trial in alone.get()]
    attempts = {trial.number: trial.user_attrs["attempts"] for trial in found}
    assert attempts == {number: 2 if number in killed else 1 for number in range(24)}
    duplicates = {trial.number for trial in found if "duplicate_of" in trial.user_attrs}
    assert workers.begun == {n: times for n, times in attempts.items() if n not in duplicates}


@pytest.mark.slow
def test_a_living_workers_trial_is_left_to_it(workers):
    workers.stop_in(3)
    slow = workers.start("tpe", 10)
    assert slow.stdout.readline() == b"stopped\n"
    finish(workers.start("tpe", 10))
    assert workers.states().count(TrialState.RUNNING) == 1
    finish(slow)
    assert workers.states() == [TrialState.COMPLETE] * 10
    assert set(workers.begun.values()) == {1}


@pytest.mark.slow
def test_coordinate_waits_for_the_value_that_another_worker_tries(workers, tmp_path):
    alone, _ = search(tmp_path / "alone", "coordinate")
    best_margin, last_margin = 3, 10
    workers.stop_in(best_margin, last_margin)
    slow = workers.start("coordinate", 100)
    assert slow.stdout.readline() == b"stopped\n"
    fast = workers.start("coordinate", 100)
    assert fast.stdout.readline() == b"stopped\n"
    assert len(workers.states()) == len(PARAMETERS["loss.margin"].values)
    fast.stdin.close()
    slow.stdin.close()
    assert (fast.wait(), slow.wait()) == (0, 0)
    found = open_trials(workers.folder).get()
    assert [trial.params for trial in found] == [trial.params for trial in alone.get()]


def test_a_line_that_a_crash_cut_off_is_dropped(tmp_path):
    search(tmp_path, "random", budget=5)
    with open(tmp_path / "journal.log", "ab") as journal:
        journal.write(b'{"op_code": 4, "worker_')
    shared, _ = search(tmp_path, "random", budget=8)
    assert [trial.state for trial in shared.get()] == [TrialState.COMPLETE] * 8
    assert len(open_trials(tmp_path).get()) == 8


def test_an_error_that_is_no_trials_fault_ends_the_worker_and_leaves_the_trial(tmp_path):
    def no_weights(number):
        if number == 3:
            raise UserError("weights are missing")

    with pytest.raises(UserError, match="weights are missing"):
        search(tmp_path, "tpe", Function(before=no_weights), budget=6)
    assert open_trials(tmp_path).get()[3].state == TrialState.RUNNING
    shared, _ = search(tmp_path, "tpe", budget=6)
    assert [trial.state for trial in shared.get()] == [TrialState.COMPLETE] * 6


def test_a_trial_without_a_finite_loss_fails_and_counts(tmp_path):
    def explodes(number):
        if number == 2:
            raise LossError("loss is nan in epoch 1")

    shared, objective = search(tmp_path, "random", Function(before=explodes), budget=4)
    failed = shared.get()[2]
    assert (failed.state, failed.user_attrs["problem"]) == (
        TrialState.FAIL,
        "loss is nan in epoch 1",
    )
    assert len(objective.evaluated) == 4
    assert best_of(shared.get()).number != 2


def test_equal_values_are_trained_once(tmp_path):
    few = {"loss.margin": PARAMETERS["loss.margin"].model_copy(update={"step": 1})}
    shared, objective = open_trials(tmp_path, budget=12, parameters=few), Function()
    work(shared, strategy("random", few, START), objective)
    assert len(objective.evaluated) == 2
    trials = shared.get()
    assert len(trials) == 12
    by_value = {trial.params["loss.margin"]: set() for trial in trials}
    for trial in trials:
        by_value[trial.params["loss.margin"]].add(trial.value)
    assert all(len(scores) == 1 for scores in by_value.values())


def test_bad_trials_are_given_up(tmp_path):
    shared = open_trials(tmp_path, budget=30, pruner={"name": "median", "startup_trials": 2})
    objective = Function(epochs=4)
    work(shared, strategy("random"), objective)
    states = [trial.state for trial in shared.get()]
    assert len(states) == 30
    assert states.count(TrialState.PRUNED) >= 5
    pruned = [trial for trial in shared.get() if trial.state == TrialState.PRUNED]
    assert all(len(trial.intermediate_values) <= 4 for trial in pruned)
    complete = [trial for trial in shared.get() if trial.state == TrialState.COMPLETE]
    mean = {
        name: sum(max(trial.intermediate_values.values()) for trial in some) / len(some)
        for name, some in (("pruned", pruned), ("complete", complete))
    }
    assert mean["complete"] > mean["pruned"]


def test_only_running_trials_keep_their_files(tmp_path):
    _, objective = search(tmp_path, "random", budget=15)
    assert len(objective.kept) == 15
    assert not any(objective.kept)


def fails_below(margin):
    """An objective whose trials with a smaller margin fail."""

    def function(values):
        if values["loss.margin"] < margin:
            raise LossError(f"loss is nan at {values['loss.margin']}; image ids: 1 2 3")
        return values["loss.margin"]

    return Function(function)


def margins(budget, most_failed, folder):
    """A coordinate search of eleven margins, from 0 to 1."""
    some = {"loss.margin": PARAMETERS["loss.margin"]}
    trials = open_trials(folder, budget, parameters=some, most_failed=most_failed)
    return trials, strategy("coordinate", some, {"loss.margin": START["loss.margin"]})


def test_too_many_failures_stop_a_search_with_their_reasons(tmp_path):
    trials, proposed = margins(11, 0.5, tmp_path)
    with pytest.raises(UserError) as error:
        work(trials, proposed, fails_below(0.6))
    assert str(error.value) == (
        "search toy: 6 of 10 trials failed, more than the share that most_failed allows (0.5): "
        "trial 0: loss is nan at 0.0; trial 1: loss is nan at 0.1; trial 2: loss is nan at 0.2; "
        "and 3 more"
    )
    again = fails_below(0.6)
    with pytest.raises(UserError, match="6 of 10 trials failed"):
        work(*margins(11, 0.5, tmp_path), again)
    assert not again.evaluated
    work(*margins(11, 0.6, tmp_path), again)
    assert len(again.evaluated) == 1


def test_failures_up_to_the_share_stop_nothing(tmp_path):
    trials, proposed = margins(10, 0.5, tmp_path)
    work(trials, proposed, fails_below(0.5))
    assert [trial.state for trial in trials.get()].count(TrialState.FAIL) == 5


def test_few_trials_say_nothing_of_the_share_that_fails(tmp_path):
    trials, proposed = margins(9, 0.0, tmp_path)
    work(trials, proposed, fails_below(0.8))
    assert [trial.state for trial in trials.get()].count(TrialState.FAIL) == 8
