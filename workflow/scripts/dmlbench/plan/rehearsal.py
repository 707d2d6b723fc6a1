"""A rehearsal: toy data and a toy network behind every name; names, tables and figures stay."""

from collections.abc import Mapping

from dmlbench.plan.catalogues import Dataset, Network
from dmlbench.plan.choices import Layout
from dmlbench.plan.configuration import Rehearsal
from dmlbench.plan.run import Run


def catalogues(
    rehearsal: Rehearsal, datasets: Mapping[str, Dataset], networks: Mapping[str, Network]
) -> tuple[dict[str, Dataset], dict[str, Network]]:
    """The catalogues of data sets and networks with the rehearsal's toys in them."""
    toys = {name: _toy(rehearsal, dataset) for name, dataset in datasets.items()}
    return toys, dict.fromkeys(networks, rehearsal.network)


def stand_ins(plan) -> dict[Run, Run]:
    """Run -> the first run of the plan that is the same training under another name.

    Behind different names of data sets, networks and embedding sizes stands the same toy, so one
    training serves all of them; each is still scored under its own name.
    """
    first: dict[tuple, Run] = {}
    return {run: first.setdefault(_training(plan, run), run) for run in plan.runs()}


def _training(plan, run: Run) -> tuple:
    rule = plan.datasets[run.dataset].splits[run.split]
    spec = plan.spec(run).model_copy(update={"dataset": "", "split": ""})
    return spec.digest, rule.model_dump_json()


def _toy(rehearsal: Rehearsal, dataset: Dataset) -> Dataset:
    rules = {name: rehearsal.splits.get(rule.name, rule) for name, rule in dataset.splits.items()}
    toy = {
        "archives": {},
        "generator": rehearsal.generator,
        "folder": None,
        "layout": Layout(name="class_folders"),
        "images": None,
        "classes": None,
        "splits": rules,
        "metrics": [metric for metric in dataset.metrics if metric not in rehearsal.unscored],
    }
    return dataset.model_copy(update=toy)
