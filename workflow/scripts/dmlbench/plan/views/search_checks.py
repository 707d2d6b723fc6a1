"""Checks of searches against the runs that they tune, before any trial starts."""

import json
from collections.abc import Mapping

from dmlbench.errors import UserError, check_known
from dmlbench.plan.catalogs.places import with_values
from dmlbench.plan.catalogs.ranges import Parameter, Value
from dmlbench.plan.catalogs.read import checked
from dmlbench.plan.specs.grids import listed
from dmlbench.plan.specs.searches import Search, first_trial, starting_values
from dmlbench.plan.specs.spec import Spec
from dmlbench.plan.studies.studies import Grid


def check_searches(plan) -> None:
    """Check every search of the plan against the run that it tunes.

    Searches of runs that differ only in split or seed have the same values, which are checked once.

    Raises:
        UserError: a run of unknown names, a place that its spec lacks, values that the spec rejects
            there, a selection that does not use validation images, or a coordinate search without
            lists of values or with a budget below one pass.
    """
    passed: set[str] = set()
    for name, search in plan.searches.items():
        where = f"{plan.entries.file('searches', name)}: {name}"
        trial = _checked_trial(plan, name, where)
        own = search.model_dump_json(include={"parameters", "strategy", "budget"})
        values = json.dumps(trial | {"split": None, "seed": None}) + own
        if values not in passed:
            _check_values(search, trial, where)
            passed.add(values)


def _checked_trial(plan, name: str, where: str) -> dict:
    """The values of a search's first trial, after a check of the run that it tunes."""
    search = plan.searches[name]
    folds = [row.fold for row in search.rows if row.fold is not None] or None
    grid = Grid.model_validate(search.run.model_dump() | {"fold": folds})
    listed(plan, grid, "", f"{where}.run")
    trial = first_trial(plan, name).as_dict()
    if trial["selection"] != "best_validation_epoch":
        raise UserError(
            f"{where}.run: selection {trial['selection']}; allowed: best_validation_epoch, so that "
            "no test label takes part in the search"
        )
    return trial


def _check_values(search: Search, trial: dict, where: str) -> None:
    """Check what a search may set."""
    for place in search.parameters:
        _check_place(trial, place, f"{where}.parameters.{place}")
    # Parameters may depend on each other, such as a loss and its options: values are checked
    # together.
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
    those points were tried with the previous parameter.
    """
    repeated = [start[place] in parameters[place].values for place in list(parameters)[1:]]
    return sum(len(parameter.values) for parameter in parameters.values()) - sum(repeated)


def _check_place(trial: dict, place: str, where: str) -> None:
    parent, _, key = place.rpartition(".")
    parts = [name for name, value in trial.items() if isinstance(value, dict)]
    parts += [f"regularizers.{part['name']}" for part in trial["regularizers"]]
    if parent:
        check_known(where, "part of the run", [parent], parts)
    else:
        check_known(where, "key of the run", [key], trial)


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
    check_known(f"{where}.strategy.start", "parameter", start, search.parameters)
    needed = trials_of_a_pass(search.parameters, start)
    if search.budget < needed:
        raise UserError(
            f"{where}.budget: {search.budget}: one pass over all parameters takes {needed} trials; "
            f"allowed: {needed} or more"
        )
