"""The schema of config/searches.yaml: which run is tuned, over which values and how.

Digests of a search's `facts`:

- `identity`: identifies what the search finds. It depends on everything that determines that (the
  trials' specs, folds, parameters and their order, strategy, pruner, budget, the code that chooses
  trials, the version of training). A tuned run's digest contains it.
- `trials_digest`: identifies a single trial. The budget and the tolerated share of failures are
  left out, so that a search with a larger budget continues the same trials.
- Neither depends on titles, nor on the number of workers: workers belong to the machine, like its
  threads. With more than one, decisions of TPE and pruners depend on which trial ends first, and no
  digest could promise equal results.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from dmlbench import registry
from dmlbench.errors import UserError
from dmlbench.plan import paths
from dmlbench.plan.catalogs.choices import Model, Pruner, Strategy
from dmlbench.plan.catalogs.configuration import Rehearsal
from dmlbench.plan.catalogs.naming import digest_of
from dmlbench.plan.catalogs.places import Place, merged, place_value
from dmlbench.plan.catalogs.ranges import Parameter, Value
from dmlbench.plan.catalogs.read import checked
from dmlbench.plan.catalogs.rows import OPTIONAL, Row, model_of_rows
from dmlbench.plan.once import once
from dmlbench.plan.specs.spec import Spec, complete
from dmlbench.plan.specs.versions import versions
from dmlbench.search.version import VERSION as SEARCH

_Single = model_of_rows(
    "_Single", lambda name, kind: (kind, OPTIONAL.get(name, ...)), without=("variant",)
)


class TunedRun(_Single):
    """The run that a search tunes: one value for each coordinate except the variant."""

    fold: NonNegativeInt | None = None


class Search(Model):
    """A search for the values of a run's parameters with the best validation score.

    Attributes:
        run: what is tuned.
        folds: folds of the run's split, instead of `run.fold`: a trial trains each fold, and its
            score is the mean over folds.
        set: merged into the run's spec in trials, such as fewer epochs.
        strategy: chooses the values to try next.
        pruner: decides when to give up a trial; None for never.
        budget: the most trials, including pruned and failed ones.
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
    def rows(self) -> list[Row]:
        """The tuned row, in each of the folds."""
        folds = [self.run.fold] if self.folds is None else self.folds
        own = {"study": "", "variant": ""}
        return [Row(**self.run.model_dump() | own | {"fold": fold}) for fold in folds]

    @property
    def tuned(self) -> Row:
        """The tuned row, in the first fold: all folds have the same data and network."""
        return self.rows[0]


def with_trials(search: Search, trials: int | None) -> Search:
    """The search with another budget; a coordinate search keeps its own."""
    if trials is None or search.strategy.name == "coordinate":
        return search
    return search.model_copy(update={"budget": trials})


def rehearsed(search: Search, rehearsal: Rehearsal) -> Search:
    """The search at toy size: few values, folds and trials, one worker, unlimited failures.

    Grids and choices keep few of their values. A range without a step keeps its form, so that code
    that reads it is rehearsed too; only the budget limits its trials.
    """
    shorter = rehearsal.searches
    parameters = {
        place: parameter.thinned(shorter.values) for place, parameter in search.parameters.items()
    }
    changes = {
        "parameters": parameters,
        "folds": search.folds and search.folds[: rehearsal.folds],
        "set": {key: value for key, value in search.set.items() if key not in rehearsal.set},
        "budget": shorter.budget,
        "most_failed": 1.0,
        "workers": 1,
    }
    return with_trials(search.model_copy(update=changes), shorter.trials)


def starting_values(spec: dict, places: Iterable[str]) -> dict[str, Value]:
    """Place -> the spec's own value; a place without one is left out."""
    values = {place: place_value(spec, place) for place in places}
    return {place: value for place, value in values.items() if value is not None}


@once
def search_facts(plan, name: str) -> dict[str, Any]:
    """Plain values that the jobs of a search take, and from which its digests are computed.

    Keys: strategy, pruner, budget, most_failed; parameters (place -> values); trial_specs (the
    spec of a trial in each fold, without the searched values); data (its identity); versions (of
    the code that trains, and of the code that chooses trials).
    """
    search = plan.searches[name]
    values = search.model_dump(mode="json", include={"strategy", "pruner", "budget", "most_failed"})
    parameters = {
        place: parameter.model_dump(mode="json", exclude={"title"}, exclude_defaults=True)
        for place, parameter in search.parameters.items()
    }
    trials = trial_specs(plan, name)
    return values | {
        "parameters": parameters,
        "trial_specs": [spec.known for spec in trials],
        "data": plan.data(search.run.dataset).folder,
        "versions": versions(trials[0]) | _versions(search),
    }


def identity(facts: Mapping[str, Any]) -> str:
    """Sixteen hexadecimal digits: a digest of everything that determines what a search finds."""
    # As a list: a strategy depends on the order of the parameters, and keys are sorted here.
    parts = {**facts, "parameters": list(facts["parameters"].items())}
    return digest_of(parts, 16)


def trials_digest(facts: Mapping[str, Any]) -> str:
    """Sixteen hexadecimal digits: a digest of everything that determines a single trial."""
    bounds = ("budget", "most_failed")
    return identity({key: value for key, value in facts.items() if key not in bounds})


@once
def identity_of(plan, name: str) -> str:
    """The identity of a plan's search."""
    return identity(search_facts(plan, name))


@once
def folder(plan, name: str) -> str:
    """A search's folder below `searches`: another search of the same name has another folder.

    Searches that differ only in what the method is called have one folder: that which is there, or
    else the first in the alphabet. So two studies share what is found, whichever of them asks, and
    a new name for a method searches nothing again.
    """
    known = identity_of(plan, name)
    alike = _alike_but_for_methods(plan)[_compared(plan, name)]
    same = [f"{each}-{known[:8]}" for each in alike if identity_of(plan, each) == known]
    results = Path(plan.configuration.pathvars.results)
    there = [each for each in same if (results / paths.SEARCH.format(search=each)).is_dir()]
    return min(there or same)


def shown(plan, name: str) -> dict[str, Any]:
    """Plain values that a table of searches is built from.

    For each parameter, all attributes of `Parameter` by name, None if not given.
    """
    search = plan.searches[name]
    return {
        "title": search.title,
        "method": search.run.method,
        "strategy": search.strategy.name,
        "metric": first_trial(plan, name).selection_metric,
        "budget": search.budget,
        "folds": search.folds,
        "parameters": search.model_dump(mode="json")["parameters"],
    }


def trial_specs(plan, name: str) -> list[Spec]:
    """The specs of a search's trials, one for each fold, without the searched values."""
    return [_trial_spec(plan, name, row) for row in plan.searches[name].rows]


def first_trial(plan, name: str) -> Spec:
    """The first of `trial_specs`."""
    return _trial_spec(plan, name, plan.searches[name].rows[0])


@once
def _trial_spec(plan, name: str, row: Row) -> Spec:
    spec, own = plan.spec(row), plan.searches[name].set
    where = f"{plan.entries.file('searches', name)}: {name}.set"
    if own:
        spec = checked(complete(merged(spec.as_dict(), own)), Spec, where=where)
    if spec.gpus > 1:
        raise UserError(f"{where}.gpus: {spec.gpus}; allowed: 1, for each worker has one GPU")
    return spec


@once
def _alike_but_for_methods(plan) -> dict[str, list[str]]:
    """What is compared -> the searches with it, which are the same if their methods are."""
    names = defaultdict(list)
    for name in plan.searches:
        names[_compared(plan, name)].append(name)
    return names


@once
def _compared(plan, name: str) -> str:
    return plan.searches[name].model_dump_json(exclude={"title": True, "run": {"method"}})


def _versions(search: Search) -> dict[str, int]:
    """Versions of the code that chooses, scores and prunes trials."""
    parts = [(part.package, part.name) for part in (search.strategy, search.pruner) if part]
    return {"search": SEARCH} | {"/".join(part): registry.version(*part) for part in parts}
