"""The trials of a search, shared by its workers, with exclusive claims."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import optuna
from optuna.trial import FrozenTrial, TrialState, create_trial

from dmlbench import locks, registry
from dmlbench.errors import UserError
from dmlbench.plan.catalogs.ranges import Parameter
from dmlbench.plan.specs.searches import trials_digest
from dmlbench.search.distributions import Values, distribution_around
from dmlbench.search.storage import open_study

FINISHED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)
FIRST_COUNT = 10
"""Finished trials before the share of failed ones is checked."""

_REASONS = 3


class Strategy(Protocol):
    """The interface of a file of `dmlbench/search/strategies`."""

    def propose(self, study: optuna.Study) -> Values | None:
        """The next trial's values; None while they depend on running trials, or at the end."""


@dataclass(frozen=True)
class Trials:
    """A search's trials.

    Attributes:
        search: the search's id, for messages.
        study: in their storage.
        parameters: place -> the values that are searched.
        folder: holds the locks; on a file system that all workers share.
        budget: the most trials.
        most_failed: share of failed trials above which no further trial starts.
    """

    search: str
    study: optuna.Study
    parameters: Mapping[str, Parameter]
    folder: Path
    budget: int
    most_failed: float

    def get(self, *states: TrialState) -> list[FrozenTrial]:
        """The trials in one of the states, or all, by number."""
        return self.study.get_trials(deepcopy=False, states=states or None)

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep the other workers from claiming trials and removing their files."""
        with locks.held(self.folder / "locks" / "trials"):
            yield

    @contextlib.contextmanager
    def claimed(self, strategy: Strategy) -> Iterator[FrozenTrial | None]:
        """A trial that only this process works on while the block runs; None once all are taken.

        A running trial whose process is gone comes before a new one.

        Raises:
            UserError: too many trials have failed.
        """
        trial, descriptor = self._claim(strategy)
        try:
            yield trial
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def note(self, trial: FrozenTrial, **facts: float | str) -> None:
        """Store attributes of a running trial."""
        for name, fact in facts.items():
            self.study._storage.set_trial_user_attr(trial._trial_id, name, fact)

    def report(self, trial: FrozenTrial, step: int, score: float) -> bool:
        """Store an intermediate score; returns whether to give up the trial."""
        storage = self.study._storage
        storage.set_trial_intermediate_value(trial._trial_id, step, score)
        return self.study.pruner.prune(self.study, storage.get_trial(trial._trial_id))

    def _claim(self, strategy: Strategy) -> tuple[FrozenTrial | None, int | None]:
        while True:
            with self.exclusive():
                self._check_failures()
                running = self.get(TrialState.RUNNING)
                for trial in running:
                    descriptor = locks.try_acquire(self._lock(trial.number))
                    if descriptor is not None:
                        return self._attempt(trial), descriptor
                number = len(self.get())
                values = strategy.propose(self.study) if number < self.budget else None
                if values is not None:
                    descriptor = locks.try_acquire(self._lock(number))
                    return self._attempt(self._new(values)), descriptor
                if not running or number >= self.budget:
                    return None, None
            locks.wait_until_free(self._lock(running[0].number))

    def _check_failures(self) -> None:
        finished, failed = len(self.get(*FINISHED)), len(self.get(TrialState.FAIL))
        if finished >= FIRST_COUNT and failed / finished > self.most_failed:
            raise UserError(
                f"search {self.search}: {failed} of {finished} trials failed, more than the share "
                f"that most_failed allows ({self.most_failed:g}): {reasons(self.get())}"
            )

    def _new(self, values: Values) -> FrozenTrial:
        """Add a running trial to the storage, in one step."""
        distributions = {
            place: distribution_around(self.parameters[place], value)
            for place, value in values.items()
        }
        self.study.add_trial(
            create_trial(state=TrialState.RUNNING, params=values, distributions=distributions)
        )
        return self.get()[-1]

    def _attempt(self, trial: FrozenTrial) -> FrozenTrial:
        self.note(trial, attempts=trial.user_attrs.get("attempts", 0) + 1)
        return trial

    def _lock(self, number: int) -> Path:
        return self.folder / "locks" / f"trial{number}"


def open_trials(search: str, facts: dict, folder: Path) -> Trials:
    """The trials of a search so far; a search with a different definition has other trials.

    Args:
        search: its id.
        facts: as `dmlbench.plan.specs.searches.search_facts` gives them.
        folder: holds the folders of shared state; on a file system that all workers share.
    """
    parameters = {
        place: Parameter.model_validate(parameter)
        for place, parameter in facts["parameters"].items()
    }
    digest, pruner = trials_digest(facts), facts["pruner"]
    state = Path(folder) / f"state-{digest}"
    pruner = registry.build("search/pruners", **pruner).pruner if pruner else None
    study = open_study(state, digest, pruner)
    return Trials(search, study, parameters, state, facts["budget"], facts["most_failed"])


def best_of(trials: Sequence[FrozenTrial]) -> FrozenTrial | None:
    """The complete trial with the highest score, the first of equal ones; None without any."""
    complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    return max(complete, key=lambda trial: (trial.value, -trial.number), default=None)


def reasons(trials: Sequence[FrozenTrial]) -> str:
    """Why trials failed, on one line: the first few different reasons, each with its trial."""
    numbers: dict[str, int] = {}
    for trial in trials:
        if trial.state == TrialState.FAIL:
            # The rest lists the images of the batch.
            numbers.setdefault(trial.user_attrs["problem"].split(";")[0], trial.number)
    named = [f"trial {number}: {reason}" for reason, number in list(numbers.items())[:_REASONS]]
    more = [f"and {len(numbers) - _REASONS} more"] if len(numbers) > _REASONS else []
    return "; ".join(named + more)
