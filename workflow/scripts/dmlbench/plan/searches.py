"""What config/searches.yaml may say: which run is tuned, over which values and in which way."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field, NonNegativeInt, PositiveInt, StringConstraints, model_validator

from dmlbench.errors import UserError, unknown
from dmlbench.plan.choices import Identifier, Model, Pruner, SplitName, Strategy
from dmlbench.plan.configuration import SearchRehearsal
from dmlbench.plan.read import checked
from dmlbench.plan.rows import Row
from dmlbench.plan.sources import SCRIPTS, module_digest
from dmlbench.plan.places import merged
from dmlbench.plan.spec import Spec
from dmlbench.plan.studies import Grid

Number = int | float
# Where in a spec a number stands: `loss.margin`, `optimizer.learning_rate`, `loss_factor`.
Place = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?$")]


class Parameter(Model):
    """A number of the spec that is searched: low, low + step, ..., high.

    Attributes:
        title: as tables name it, and as a printed table does; its place where not given.
        open: whether `low` itself is left out, as in (0, 100].
    """

    title: str | None = None
    low: Number
    high: Number
    step: Number
    open: bool = False

    @model_validator(mode="after")
    def _is_a_grid(self) -> "Parameter":
        if not self.step > 0:
            raise ValueError(f"step {self.step}; allowed: more than 0")
        if not self.low < self.high:
            raise ValueError(f"low {self.low}, high {self.high}; allowed: low below high")
        if self._steps != int(self._steps):
            raise ValueError(
                f"from {self.low} to {self.high} are {float(self._steps):g} steps of {self.step}; "
                "allowed: a whole number of steps"
            )
        return self

    @property
    def values(self) -> tuple[Number, ...]:
        """The values, in rising order; whole numbers where low, high and step are."""
        low, step = Decimal(str(self.low)), Decimal(str(self.step))
        exact = (low + position * step for position in range(int(self._steps) + 1))
        kind = float if float in map(type, (self.low, self.high, self.step)) else int
        return tuple(map(kind, exact))[1 if self.open else 0 :]

    @property
    def _steps(self) -> Decimal:
        low, high, step = (Decimal(str(end)) for end in (self.low, self.high, self.step))
        return (high - low) / step


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
        run: what is tuned; it is trained with the best values once they are found.
        set: laid over the run's spec in trials, such as fewer epochs.
        strategy: which values are tried next.
        pruner: when a trial is given up; none for never.
        budget: most trials, pruned and failed ones among them.
        workers: jobs that share the trials.
        parameters: place in the spec -> values, in the order of the table.
    """

    title: str
    run: TunedRun
    set: dict[str, Any] = {}
    strategy: Strategy
    pruner: Pruner | None = None
    budget: PositiveInt
    workers: PositiveInt = 1
    parameters: dict[Place, Parameter] = Field(min_length=1)

    @property
    def tuned(self) -> Row:
        """The run that is tuned."""
        return Row(study="", variant="", **self.run.model_dump())


def rehearsed(search: Search, rehearsal: SearchRehearsal) -> Search:
    """A search over the ends and few values between, in as many trials as that takes."""
    parameters = {
        place: parameter.model_copy(update={"step": _coarser(parameter, rehearsal.values)})
        for place, parameter in search.parameters.items()
    }
    changes = {"parameters": parameters, "set": {}, "budget": rehearsal.budget, "workers": 1}
    return search.model_copy(update=changes)


def place_value(values: Mapping, place: str) -> Any:
    """What stands at a place of a spec's plain values; none where nothing does."""
    for key in place.split("."):
        values = values.get(key) if isinstance(values, Mapping) else None
    return values


def with_values(spec: dict, values: Mapping[str, Number]) -> dict:
    """A spec's plain values with searched ones (place -> value) laid over them."""
    for place, value in values.items():
        *parents, key = place.split(".")
        spec = merged(spec, {parents[0]: {key: value}} if parents else {key: value})
    return spec


def starting_values(spec: dict, places: Iterable[str]) -> dict[str, Number]:
    """Place -> the spec's own value; a place without one is left out."""
    found = {place: place_value(spec, place) for place in places}
    return {place: value for place, value in found.items() if value is not None}


def facts(plan, name: str) -> dict[str, Any]:
    """Plain values that the jobs of a search are given; what is only shown is no part of them."""
    search = plan.searches[name]
    values = search.model_dump(mode="json", exclude={"title", "run", "set"})
    for parameter in values["parameters"].values():
        del parameter["title"]
    tuned = plan.spec(search.tuned)
    return values | {
        "run": search.tuned.path,
        "tuned_spec": tuned.as_dict(),
        "trial_spec": of_trials(plan, name).as_dict(),
        "code": _code(search),
    }


def shown(plan, name: str) -> dict[str, Any]:
    """Plain values that a table of searches is built from."""
    search = plan.searches[name]
    return {
        "title": search.title,
        "method": search.run.method,
        "strategy": search.strategy.name,
        "budget": search.budget,
        "parameters": search.model_dump(mode="json")["parameters"],
    }


def digest(facts: dict[str, Any]) -> str:
    """Sixteen hexadecimal digits of what trials are: budget and workers are no part of it."""
    keys = ("strategy", "pruner", "parameters", "trial_spec", "code")
    parts = {key: facts[key] for key in keys}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def check(plan, name: str) -> None:
    """Check a search of the plan against the run that it tunes.

    Raises:
        UserError: a run of unknown names, a place that its spec lacks or that holds no number, a
            selection that does not look at validation images, or a budget that one pass of a
            coordinate search exceeds.
    """
    search, where = plan.searches[name], f"{plan.folder / 'searches.yaml'}: {name}"
    plan.combinations(Grid.model_validate(search.run.model_dump()), f"{where}.run")
    trial = of_trials(plan, name).as_dict()
    if trial["selection"] != "best_validation_epoch":
        raise UserError(
            f"{where}.run: selection {trial['selection']}; allowed: best_validation_epoch, so that "
            "no test label takes part in the search"
        )
    for place, parameter in search.parameters.items():
        here = f"{where}.parameters.{place}"
        _check_place(trial, place, here)
        for value in (parameter.values[0], parameter.values[-1]):
            checked(with_values(trial, {place: value}), Spec, where=here)
    if search.strategy.name == "coordinate":
        _check_coordinate(search, trial, where)


def _code(search: Search) -> list[str]:
    """Digests of the source that chooses trials and gives them up."""
    room = SCRIPTS / "dmlbench" / "search"
    files = [room / "strategies" / f"{search.strategy.name}.py", room / "strategies" / "_draw.py"]
    if search.pruner:
        files.append(room / "pruners" / f"{search.pruner.name}.py")
    return [module_digest(file) for file in files]


def of_trials(plan, name: str) -> Spec:
    """The spec of a search's trials, but for the searched values."""
    search = plan.searches[name]
    values = merged(plan.spec(search.tuned).as_dict(), search.set)
    return checked(values, Spec, where=f"{plan.folder / 'searches.yaml'}: {name}.set")


def _check_place(trial: dict, place: str, where: str) -> None:
    parent, _, key = place.rpartition(".")
    parts = [name for name, value in trial.items() if isinstance(value, dict)]
    if parent and parent not in parts:
        raise UserError(f"{where}: {unknown('part of the run', parent, parts)}")
    if not parent and key not in trial:
        numbers = [name for name, value in trial.items() if _is_number(value)]
        raise UserError(f"{where}: {unknown('number of the run', key, numbers)}")


def _check_coordinate(search: Search, trial: dict, where: str) -> None:
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


def trials_of_a_pass(parameters: Mapping[str, Parameter], start: Mapping[str, Number]) -> int:
    """Trials of a coordinate search's first pass.

    All values of every parameter, but for the starting values of all parameters after the first:
    there the point was tried with the parameter before.
    """
    repeated = [start[place] in parameters[place].values for place in list(parameters)[1:]]
    return sum(len(parameter.values) for parameter in parameters.values()) - sum(repeated)


def _coarser(parameter: Parameter, values: int) -> Number:
    """A step that leaves at most so many values, and is a divisor of the range."""
    count = int(parameter._steps)
    wanted = values - (0 if parameter.open else 1)
    steps = next(steps for steps in range(wanted, 0, -1) if count % steps == 0)
    exact = (Decimal(str(parameter.high)) - Decimal(str(parameter.low))) / steps
    return int(exact) if exact == int(exact) and isinstance(parameter.step, int) else float(exact)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def identity(plan, name):
    return digest(facts(plan, name))


def best(plan, name):
    return f"searches/{name}/best.yaml"


def trials(plan, name):
    return f"searches/{name}/trials.parquet"
