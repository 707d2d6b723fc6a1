"""What config/searches.yaml may say: which run is tuned, over which values and in which way.

Three things are known by a digest of a search's `facts`:

- `identity`: what the search finds. A change of anything that determines it (the trials' specs,
  folds, parameters and their order, strategy, pruner, budget, the source that chooses trials, the
  version of training) gives another one. A tuned run's digest contains it.
- `trials_digest`: what a single trial is. The budget and the share of failures that is tolerated
  are left out, so that a search with a larger budget continues the same trials.
- Neither knows titles, nor how many workers share the trials: workers are a matter of the machine,
  as its threads are. With more than one of them, what TPE and pruners decide depends on which trial
  ends first, and no digest could promise equal results.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import Field, NonNegativeInt, PositiveInt, StringConstraints, model_validator

from dmlbench.errors import UserError, unknown
from dmlbench.plan.choices import Identifier, Model, Pruner, SplitName, Strategy
from dmlbench.plan.configuration import SearchRehearsal
from dmlbench.plan.ranges import Parameter, Value
from dmlbench.plan.read import checked
from dmlbench.plan.run import Run
from dmlbench.plan.sources import SCRIPTS, module_digest
from dmlbench.plan.spec import Spec, merged
from dmlbench.plan.studies import Grid
from dmlbench.training.version import VERSION

# A value's place in a spec: `loss.margin`, `optimizer.learning_rate`, `loss_factor`.
Place = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?$")]

REHEARSED_FOLDS = 2


class TunedRun(Model):
    """The run that a search tunes: one value each of what a study lists."""

    dataset: Identifier
    network: Identifier
    embedding_dim: PositiveInt
    method: Identifier
    recipe: Identifier
    split: SplitName
    fold: NonNegativeInt | None = None
    seed: NonNegativeInt


class Search(Model):
    """A search for the values of a run's parameters with the best validation score.

    Attributes:
        run: what is tuned.
        folds: folds of the run's split, instead of `run.fold`: a trial trains each of them, and
            its score is the mean of theirs.
        set: laid over the run's spec in trials, such as fewer epochs.
        strategy: which values are tried next.
        pruner: when a trial is given up; none for never.
        budget: most trials, pruned and failed ones among them.
        most_failed: share of failed trials above which the search stops with an error; applied
            once ten trials are finished.
        workers: jobs that share the trials.
        parameters: place in the spec -> values, in the order of the table.
    """

    title: str
    run: TunedRun
    folds: list[NonNegativeInt] | None = Field(default=None, min_length=1)
    set: dict[str, Any] = {}
    strategy: Strategy
    pruner: Pruner | None = None
    budget: PositiveInt
    most_failed: float = Field(default=0.5, ge=0, le=1)
    workers: PositiveInt = 1
    parameters: dict[Place, Parameter] = Field(min_length=1)

    @model_validator(mode="after")
    def _folds_are_clear(self) -> "Search":
        if self.folds is not None:
            if self.run.fold is not None:
                raise ValueError(f"has both folds and run.fold {self.run.fold}; allowed: one")
            if len(set(self.folds)) < len(self.folds):
                raise ValueError(f"folds {self.folds}; allowed: each fold once")
        return self

    @property
    def runs(self) -> list[Run]:
        """The run that is tuned, in each of the folds."""
        folds = [self.run.fold] if self.folds is None else self.folds
        return [Run(**self.run.model_dump() | {"fold": fold}) for fold in folds]

    @property
    def tuned(self) -> Run:
        """The run that is tuned, in the first of the folds: all have the same data and network."""
        return self.runs[0]


def rehearsed(search: Search, rehearsal: SearchRehearsal) -> Search:
    """The search at toy size: few values, folds and trials, one worker, any number of failures.

    Grids and choices keep few of their values. A range without a step keeps its form, so that what
    reads it is rehearsed too; the budget alone limits its trials.
    """
    parameters = {
        place: parameter.thinned(rehearsal.values) for place, parameter in search.parameters.items()
    }
    changes = {
        "parameters": parameters,
        "folds": search.folds and search.folds[:REHEARSED_FOLDS],
        "set": {},
        "budget": rehearsal.budget,
        "most_failed": 1.0,
        "workers": 1,
    }
    return search.model_copy(update=changes)


def place_value(values: Mapping, place: str) -> Any:
    """The value at a place of a spec's plain values; none where there is none."""
    for key in place.split("."):
        values = values.get(key) if isinstance(values, Mapping) else None
    return values


def with_values(spec: dict, values: Mapping[str, Value]) -> dict:
    """A spec's plain values with searched ones (place -> value) laid over them, in any order.

    Another `name` of a part replaces the part, so names are laid over first.

    >>> spec = {"loss": {"name": "triplet", "margin": 0.2}, "epochs": 3}
    >>> with_values(spec, {"loss.scale": 2, "loss.name": "circle", "epochs": 4})
    {'loss': {'name': 'circle', 'scale': 2}, 'epochs': 4}
    """
    for place in sorted(values, key=lambda place: "." in place and not place.endswith(".name")):
        *parents, key = place.split(".")
        change = {key: values[place]}
        spec = merged(spec, {parents[0]: change} if parents else change)
    return spec


def starting_values(spec: dict, places: Iterable[str]) -> dict[str, Value]:
    """Place -> the spec's own value; a place without one is left out."""
    found = {place: place_value(spec, place) for place in places}
    return {place: value for place, value in found.items() if value is not None}


def facts(plan, name: str) -> dict[str, Any]:
    """Plain values that the jobs of a search are given, and that its digests are made of.

    Keys: strategy, pruner, budget, most_failed; parameters (place -> values); trial_specs (the
    spec of a trial in each fold, without the searched values); source (digests of the code that
    chooses trials); version (of training). Whatever else trials depend on, such as the identity of
    their data, counts in both digests once it is added here.
    """
    search = plan.searches[name]
    values = search.model_dump(mode="json", include={"strategy", "pruner", "budget", "most_failed"})
    parameters = {
        place: parameter.model_dump(mode="json", exclude={"title"}, exclude_defaults=True)
        for place, parameter in search.parameters.items()
    }
    return values | {
        "parameters": parameters,
        "trial_specs": [spec.as_dict() for spec in trial_specs(plan, name)],
        "source": _source(search),
        "version": VERSION,
    }


def identity(facts: Mapping[str, Any]) -> str:
    """Sixteen hexadecimal digits of everything that determines what a search finds."""
    return _digest(facts)


def trials_digest(facts: Mapping[str, Any]) -> str:
    """Sixteen hexadecimal digits of what a trial is, whatever the number of trials."""
    bounds = ("budget", "most_failed")
    return _digest({key: value for key, value in facts.items() if key not in bounds})


def shown(plan, name: str) -> dict[str, Any]:
    """Plain values that a table of searches is built from.

    Of a parameter, all attributes of `Parameter` by name, None where not given.
    """
    search = plan.searches[name]
    return {
        "title": search.title,
        "method": search.run.method,
        "strategy": search.strategy.name,
        "budget": search.budget,
        "folds": search.folds,
        "parameters": search.model_dump(mode="json")["parameters"],
    }


def trial_specs(plan, name: str) -> list[Spec]:
    """The specs of a search's trials, one for each fold, without the searched values."""
    search = plan.searches[name]
    where = f"{plan.folder / 'searches.yaml'}: {name}.set"
    return [
        checked(merged(plan.spec(run).as_dict(), search.set), Spec, where=where)
        for run in search.runs
    ]


def check(plan, name: str) -> None:
    """Check a search of the plan against the run that it tunes.

    Raises:
        UserError: a run of unknown names, a place that its spec lacks, values that the spec
            refuses there, a selection that does not look at validation images, or a coordinate
            search without lists of values or with a budget below one pass.
    """
    search, where = plan.searches[name], f"{plan.folder / 'searches.yaml'}: {name}"
    plan.combinations(Grid.model_validate(search.run.model_dump()), f"{where}.run")
    trial = trial_specs(plan, name)[0].as_dict()
    if trial["selection"] != "best_validation_epoch":
        raise UserError(
            f"{where}.run: selection {trial['selection']}; allowed: best_validation_epoch, so that "
            "no test label takes part in the search"
        )
    for place in search.parameters:
        _check_place(trial, place, f"{where}.parameters.{place}")
    # Parameters may need each other, such as a loss and its options: values are checked together.
    first = {place: parameter.extremes[0] for place, parameter in search.parameters.items()}
    checked(with_values(trial, first), Spec, where=f"{where}.parameters")
    for place, parameter in search.parameters.items():
        for value in parameter.extremes[1:]:
            values = with_values(trial, first | {place: value})
            checked(values, Spec, where=f"{where}.parameters.{place}")
    if search.strategy.name == "coordinate":
        _check_coordinate(search, trial, where)


def trials_of_a_pass(parameters: Mapping[str, Parameter], start: Mapping[str, Value]) -> int:
    """Trials of a coordinate search's first pass.

    All values of every parameter, except the starting values of all parameters after the first:
    those points were tried with the parameter before.
    """
    repeated = [start[place] in parameters[place].values for place in list(parameters)[1:]]
    return sum(len(parameter.values) for parameter in parameters.values()) - sum(repeated)


def _digest(facts: Mapping[str, Any]) -> str:
    # As a list: a strategy depends on the order of the parameters, and keys are sorted here.
    parts = {**facts, "parameters": list(facts["parameters"].items())}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _source(search: Search) -> list[str]:
    """Digests of the source that chooses trials, scores them and gives them up."""
    room = SCRIPTS / "dmlbench" / "search"
    files = [
        room / "objective.py",
        room / "distributions.py",
        room / "strategies" / "_draw.py",
        room / "strategies" / f"{search.strategy.name}.py",
    ]
    if search.pruner:
        files.append(room / "pruners" / f"{search.pruner.name}.py")
    return [module_digest(file) for file in files]


def _check_place(trial: dict, place: str, where: str) -> None:
    parent, _, key = place.rpartition(".")
    parts = [name for name, value in trial.items() if isinstance(value, dict)]
    if parent and parent not in parts:
        raise UserError(f"{where}: {unknown('part of the run', parent, parts)}")
    if not parent and key not in trial:
        raise UserError(f"{where}: {unknown('key of the run', key, trial)}")


def _check_coordinate(search: Search, trial: dict, where: str) -> None:
    for place, parameter in search.parameters.items():
        if parameter.values is None:
            raise UserError(
                f"{where}.parameters.{place}: strategy coordinate tries every value, and a range "
                "without a step has no list of them; allowed: low, high and step, or choices"
            )
    start = starting_values(trial, search.parameters)
    start |= search.strategy.hyperparameters.get("start", {})
    for place in search.parameters:
        if place not in start:
            raise UserError(
                f"{where}.strategy.start: the run's spec gives no value for {place}; name one here"
            )
    for place in start:
        if place not in search.parameters:
            problem = unknown("parameter", place, search.parameters)
            raise UserError(f"{where}.strategy.start: {problem}")
    needed = trials_of_a_pass(search.parameters, start)
    if search.budget < needed:
        raise UserError(
            f"{where}.budget: {search.budget}: one pass over all parameters takes {needed} trials; "
            f"allowed: {needed} or more"
        )
