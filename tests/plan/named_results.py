"""The name of each result of some studies, and what it is compared by."""

import itertools
from dataclasses import replace

from dmlbench.plan.catalogs.configuration import Configuration
from dmlbench.plan.catalogs.read import checked, read_mapping
from dmlbench.plan.specs import searches
from dmlbench.plan.specs.plan import Plan
from project import CONFIG

SMALL = ("can2019_grocery_rho", "demo")
"""Studies that name parts of all packages."""


def load(*studies):
    values = read_mapping(CONFIG / "config.yaml") | {"studies": list(studies)}
    return Plan(checked(values, Configuration, where="config.yaml"), CONFIG)


def everything(*studies):
    """The name of each result of some studies, and what Snakemake compares of each training.

    Of the searches, every 24th suffices for a few studies.
    """
    plan = load(*studies)
    rows = itertools.chain.from_iterable(map(plan.rows, studies))
    runs = {row: plan.run(row) for row in dict.fromkeys(replace(row, seed=0) for row in rows)}
    some = list(plan.searches)[:: 1 if len(studies) > len(SMALL) else 24]
    facts = {name: searches.search_facts(plan, name) for name in some}
    return {
        "runs": {row: run.folder for row, run in runs.items()},
        "specs": {row: run.spec.digest for row, run in runs.items()},
        "parameters": {row: repr(run.spec.known) for row, run in runs.items()},
        "searches": {name: searches.folder(plan, name) for name in facts},
        "trials": {name: searches.trials_digest(found) for name, found in facts.items()},
        "facts": {name: repr(found) for name, found in facts.items()},
        "experiments": {name: each.folder(name) for name, each in plan.experiments.items()},
        "data": {
            name: plan.data(name).folder
            for name, entry in plan.datasets.items()
            if not entry.folder
        },
    }
