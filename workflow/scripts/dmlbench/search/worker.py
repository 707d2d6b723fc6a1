"""A worker: it takes trials from the board and evaluates them until none is left."""

import time
from collections.abc import Callable
from typing import Protocol

import optuna
from optuna.trial import FrozenTrial, TrialState

from dmlbench.search.trials import Board, Strategy, Values, best_of, values_of
from dmlbench.training.watch import NonFiniteLossError

Report = Callable[[int, float], None]


class Objective(Protocol):
    """What is maximized."""

    def evaluate(self, number: int, values: Values, report: Report) -> float:
        """A trial's score; `report` is told each epoch's and may raise to end the trial."""

    def clear(self, kept: set[int]) -> None:
        """Remove the files of all trials but these."""


def work(board: Board, strategy: Strategy, objective: Objective) -> list[int]:
    """Evaluate trials until the budget is spent; returns the numbers of those evaluated here.

    A trial whose worker is gone is evaluated again under its number. An error that is no trial's
    fault ends the worker and leaves its trial to the next one.
    """
    done = []
    while True:
        with board.claimed(strategy) as trial:
            if trial is None:
                return done
            _evaluate(board, trial, objective)
        done.append(trial.number)
        with board.alone():
            _clear(board, objective)


def _evaluate(board: Board, trial: FrozenTrial, objective: Objective) -> None:
    values = values_of(trial, board.parameters)
    twin = _twin(board, trial)
    if twin is not None:
        board.note(trial, twin=twin.number)
        for epoch, score in twin.intermediate_values.items():
            board.report(trial, epoch, score)
        _tell(board, trial, twin.state, twin.value)
        return

    def report(epoch: int, score: float) -> None:
        if board.report(trial, epoch, score):
            raise optuna.TrialPruned

    start = time.monotonic()
    try:
        score, state = objective.evaluate(trial.number, values, report), TrialState.COMPLETE
    except optuna.TrialPruned:
        score, state = None, TrialState.PRUNED
    except NonFiniteLossError as error:
        board.note(trial, problem=str(error))
        score, state = None, TrialState.FAIL
    board.note(trial, seconds=round(time.monotonic() - start, 2))
    _tell(board, trial, state, score)


def _twin(board: Board, trial: FrozenTrial) -> FrozenTrial | None:
    """A finished trial with the same values: the same training would give the same scores."""
    finished = board.trials(TrialState.COMPLETE, TrialState.PRUNED)
    return next((other for other in finished if other.params == trial.params), None)


def _tell(board: Board, trial: FrozenTrial, state: TrialState, score: float | None) -> None:
    given = score if state == TrialState.COMPLETE else None
    board.study.tell(trial.number, given, state=state)


def _clear(board: Board, objective: Objective) -> None:
    """Leave the files of running trials and of the best one."""
    best = best_of(board.trials())
    kept = {trial.number for trial in board.trials(TrialState.RUNNING)}
    objective.clear(kept | ({best.number} if best else set()))
