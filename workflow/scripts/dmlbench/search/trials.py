"""Trials as strategies see them, and who may work on which."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import optuna
from optuna.distributions import FloatDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from dmlbench.plan.searches import Number, Parameter
from dmlbench.search import locks

Values = dict[str, Number]


class Strategy(Protocol):
    """What a file of `dmlbench/search/strategies` defines."""

    def propose(self, study: optuna.Study) -> Values | None:
        """The next trial's values; none while they depend on running trials, or at the end."""


@dataclass(frozen=True)
class Board:
    """A search's trials, shared by its workers.

    Attributes:
        study: their journal.
        parameters: place -> the values that are searched.
        folder: holds the locks; on a file system that all workers share.
        budget: most trials.
    """

    study: optuna.Study
    parameters: Mapping[str, Parameter]
    folder: Path
    budget: int

    def trials(self, *states: TrialState) -> list[FrozenTrial]:
        """The trials in one of the states, or all, by number."""
        return self.study.get_trials(deepcopy=False, states=states or None)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep the other workers from taking and clearing trials."""
        with locks.held(self.folder / "locks" / "board"):
            yield

    @contextlib.contextmanager
    def claimed(self, strategy: Strategy) -> Iterator[FrozenTrial | None]:
        """A trial that is this process's alone while the block runs; none once all are taken.

        A running trial whose process is gone comes before a new one.
        """
        trial, descriptor = self._claim(strategy)
        try:
            yield trial
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def note(self, trial: FrozenTrial, **facts: Number | str) -> None:
        """Keep facts beside a running trial."""
        for name, fact in facts.items():
            self._storage.set_trial_user_attr(self._id(trial), name, fact)

    def report(self, trial: FrozenTrial, epoch: int, score: float) -> bool:
        """Keep an epoch's score; returns whether the trial is to be given up."""
        self._storage.set_trial_intermediate_value(self._id(trial), epoch, score)
        return self.study.pruner.prune(self.study, self._storage.get_trial(self._id(trial)))

    def _claim(self, strategy: Strategy) -> tuple[FrozenTrial | None, int | None]:
        while True:
            with self.alone():
                running = self.trials(TrialState.RUNNING)
                for trial in running:
                    descriptor = locks.take(self._lock(trial.number))
                    if descriptor is not None:
                        return self._attempt(trial), descriptor
                number = len(self.trials())
                values = strategy.propose(self.study) if number < self.budget else None
                if values is not None:
                    descriptor = locks.take(self._lock(number))
                    return self._attempt(self._new(values)), descriptor
                if not running or number >= self.budget:
                    return None, None
            locks.wait_for(self._lock(running[0].number))

    def _new(self, values: Values) -> FrozenTrial:
        """Put a running trial into the journal, in one line."""
        limits = {place: _limits(self.parameters[place], value) for place, value in values.items()}
        numbers = {place: float(value) for place, value in values.items()}
        self.study.add_trial(
            create_trial(state=TrialState.RUNNING, params=numbers, distributions=limits)
        )
        return self.trials()[-1]

    def _attempt(self, trial: FrozenTrial) -> FrozenTrial:
        self.note(trial, attempts=trial.user_attrs.get("attempts", 0) + 1)
        return trial

    def _lock(self, number: int) -> Path:
        return self.folder / "locks" / f"trial{number}"

    def _id(self, trial: FrozenTrial) -> int:
        study = self._storage.get_study_id_from_name(self.study.study_name)
        return self._storage.get_trial_id_from_study_id_trial_number(study, trial.number)

    @property
    def _storage(self):
        return self.study._storage


def grid_of(parameter: Parameter) -> FloatDistribution:
    """A parameter's values as Optuna describes them."""
    values = parameter.values
    return FloatDistribution(values[0], values[-1], step=parameter.step)


def values_of(trial: FrozenTrial, parameters: Mapping[str, Parameter]) -> Values:
    """A trial's values by place, on the parameters' grids, as whole numbers where those are."""
    found = {}
    for place, parameter in parameters.items():
        value = trial.params[place]
        found[place] = next((point for point in parameter.values if point == value), value)
    return found


def best_of(trials: Sequence[FrozenTrial]) -> FrozenTrial | None:
    """The complete trial with the highest score, of equal ones the first; none without any."""
    complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    return max(complete, key=lambda trial: (trial.value, -trial.number), default=None)


def _limits(parameter: Parameter, value: Number) -> FloatDistribution:
    if value in parameter.values:
        return grid_of(parameter)
    # A coordinate search may start off the grid.
    return FloatDistribution(min(parameter.low, value), max(parameter.high, value))
