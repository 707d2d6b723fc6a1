"""A rehearsal: toy data and a toy network under every name; names, tables and figures stay."""

from collections.abc import Mapping

from dmlbench.plan.catalogs.catalogues import Dataset, Network
from dmlbench.plan.catalogs.choices import Layout, Transform
from dmlbench.plan.catalogs.configuration import ExperimentRehearsal, Rehearsal
from dmlbench.plan.catalogs.experiments import Experiment

TOY = "rehearsal"
"""The name of the data set that replaces all others."""


def catalogues(
    rehearsal: Rehearsal, datasets: Mapping[str, Dataset], networks: Mapping[str, Network]
) -> tuple[dict[str, Dataset], dict[str, Network]]:
    """The catalogues of data sets and networks, with the rehearsal's toys."""
    toys = {name: _toy(rehearsal, dataset) for name, dataset in datasets.items()}
    return toys, {name: _like(network, rehearsal.network) for name, network in networks.items()}


def trained(rehearsal: Rehearsal, *, seed: int, fold: int | None) -> dict[str, int | None]:
    """The seed and the fold of the run that a row uses."""
    return {
        "seed": seed % rehearsal.seeds if rehearsal.seeds else seed,
        "fold": fold % rehearsal.folds if rehearsal.folds and fold is not None else fold,
    }


def shortened(
    rehearsal: ExperimentRehearsal, experiments: Mapping[str, Experiment]
) -> dict[str, Experiment]:
    """Experiments with their first seeds and the rehearsal's options."""
    return {
        name: experiment.model_copy(
            update={
                "seeds": experiment.seeds[: rehearsal.seeds],
                "experiment": experiment.experiment.model_copy(
                    update=rehearsal.options.get(name, {})
                ),
            }
        )
        for name, experiment in experiments.items()
    }


def _like(network: Network, toy: Network) -> Network:
    """The toy network, frozen if the other one is."""
    if network.frozen is None:
        return toy
    crop = Transform(name="center_crop", size=toy.pixels)
    return toy.model_copy(update={"frozen": [crop]})


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
