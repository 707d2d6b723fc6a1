"""A worker: it claims trials and evaluates them until none is left."""

import time
from collections.abc import Callable
from typing import Protocol

import optuna
from optuna.trial import FrozenTrial, TrialState

from dmlbench.search.distributions import Values, values_of
from dmlbench.search.trials import Strategy, Trials
from dmlbench.training.watch import LossError

Report = Callable[[int, float], None]


class TrialScore(Protocol):
    """What is maximized."""

    def evaluate(self, number: int, values: Values, report: Report) -> float:
        """A trial's score; `report` takes a step and its score, and may end the trial."""

    def clear(self, kept: set[int]) -> None:
        """Remove the files of all trials except these."""


def work(trials: Trials, strategy: Strategy, objective: TrialScore) -> list[int]:
    """Evaluate trials until the budget is spent; returns the numbers of those evaluated here.

    A trial whose worker is gone is evaluated again under its number. Any error but a LossError ends
    the worker; the next one evaluates its trial again.

    Raises:
        UserError: too many trials have failed.
    """
    done = []
    while True:
        with trials.claimed(strategy) as trial:
            if trial is None:
                return done
            _evaluate(trials, trial, objective)
        done.append(trial.number)
        with trials.exclusive():
            objective.clear({running.number for running in trials.get(TrialState.RUNNING)})


def _evaluate(trials: Trials, trial: FrozenTrial, objective: TrialScore) -> None:
    values = values_of(trial, trials.parameters)
    original = _original_of(trials, trial)
    if original is not None:
        trials.note(trial, duplicate_of=original.number)
        for step, score in original.intermediate_values.items():
            trials.report(trial, step, score)
        _finish(trials, trial, original.state, original.value)
        return

    def report(step: int, score: float) -> None:
        if trials.report(trial, step, score):
            raise optuna.TrialPruned

    start = time.monotonic()
    try:
        score, state = objective.evaluate(trial.number, values, report), TrialState.COMPLETE
    except optuna.TrialPruned:
        score, state = None, TrialState.PRUNED
    except LossError as error:
        trials.note(trial, problem=str(error))
        score, state = None, TrialState.FAIL
    trials.note(trial, seconds=round(time.monotonic() - start, 2))
    _finish(trials, trial, state, score)


def _original_of(trials: Trials, trial: FrozenTrial) -> FrozenTrial | None:
    """A finished trial with the same values: the same training would give the same scores."""
    finished = trials.get(TrialState.COMPLETE, TrialState.PRUNED)
    return next((other for other in finished if other.params == trial.params), None)


def _finish(trials: Trials, trial: FrozenTrial, state: TrialState, score: float | None) -> None:
    given = score if state == TrialState.COMPLETE else None
    trials.study.tell(trial.number, given, state=state)
