"""How often an interval that some classes gave holds what other classes of the same kind give.

    python benchmarks/other_classes.py birds results/data/cub200_160-*    # 30 CPU minutes
    python benchmarks/other_classes.py cars results/data/cars196_160-*    # as many

The classes of a data set are divided into two populations that share none. In each, three halves
and their swaps train and test heads of 128 dimensions on the features of the frozen network, with
losses and miners as the studies have them, and values that are the medians over splits of the
published searches. A 95 % interval for other classes that one population gives must hold the
difference that the other one gives, whose own error counts. So an interval of half-width h is asked
for sqrt(2) h. Birds are also divided by genus, the last word of a class's name, and cars by maker,
the first: then no genus or maker is in both populations.

The features of EfficientNet-Lite0 and images.parquet are in the folder of the data set, which a run
of psomas2020_birds or psomas2020_cars makes. Each population's scores are kept in `--work`, and the
next call continues there. Writes results/benchmarks/other-classes.json and the table of
docs/intervals.md, and prints it.
"""

import argparse
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from disjoint_classes import (
    GROUPS,
    ITERATIONS,
    KINDS,
    METRICS,
    MINERS,
    REPOSITORY,
    Data,
    collect,
    read_data,
)
from dmlbench.marked_text import write_marked
from dmlbench.statistics.equivalence import Difference
from dmlbench.statistics.other_classes import kappa_of, of_classes, of_splits, prior_of
from scipy.special import stdtrit

PAGE = REPOSITORY / "docs" / "intervals.md"
OUTPUT = REPOSITORY / "results" / "benchmarks" / "other-classes.json"
INDEPENDENT, OF_SPLITS = "splits as independent (t)", "shared classes (`of_splits`)"
OF_CLASSES, CLUSTERED = "scores of classes (`of_classes`)", "the same, clustered by genus or maker"


def estimates(scores: np.ndarray, group: np.ndarray) -> dict[str, list[Difference]]:
    """The difference of each pair of losses by each recipe.

    Args:
        scores: of one metric, [losses, runs, classes].
        group: of each class.
    """
    of_runs = np.nanmean(scores, axis=2)
    pairs = list(itertools.combinations(range(len(scores)), 2))
    prior = prior_of(of_runs)
    kappa = kappa_of(scores[first] - scores[other] for first, other in pairs)
    found: dict[str, list[Difference]] = {}
    for first, other in pairs:
        runs, cells = of_runs[first] - of_runs[other], scores[first] - scores[other]
        crossed = of_classes(cells, kappa=kappa)
        naive = Difference(runs.mean(), runs.std(ddof=1) / len(runs) ** 0.5, len(runs) - 1.0)
        for recipe, each in (
            (INDEPENDENT, naive),
            (OF_SPLITS, of_splits(runs, prior=prior)),
            (OF_CLASSES, crossed),
            (CLUSTERED, clustered(crossed, cells, group)),
        ):
            found.setdefault(recipe, []).append(each)
    return found


def clustered(crossed: Difference, cells: np.ndarray, group: np.ndarray) -> Difference:
    """The estimate of `of_classes`, with an error by which classes of one group vary together."""
    tested = ~np.isnan(cells).all(axis=0)
    effects = np.nanmean(cells[:, tested] - np.nanmean(cells, axis=1, keepdims=True), axis=0)
    effects -= effects.mean()
    sums = pd.Series(effects).groupby(group[tested]).sum()
    groups, classes = len(sums), len(effects)
    inflation = (
        (sums**2).sum() / (groups - 1) * groups / ((effects**2).sum() / (classes - 1) * classes)
    )
    return Difference(crossed.value, crossed.error * inflation**0.5, groups - 1.0)


def calibrated(data: Data, partitions: Sequence[list[np.ndarray]]) -> list[dict]:
    """One row per metric and recipe: how often it holds, with its error over partitions."""
    rows = []
    for column, metric in enumerate(METRICS):
        own = [
            [estimates(side[..., column], data.group) for side in partition]
            for partition in partitions
        ]
        for recipe in own[0][0]:
            sides = np.array([[side[recipe] for side in partition] for partition in own])
            value, error, freedom = np.moveaxis(sides, -1, 0)
            apart = np.abs(value[:, 0] - value[:, 1])[:, None]
            half = stdtrit(freedom, 0.975) * error
            held = (apart <= 2**0.5 * half).mean(axis=(1, 2))
            rows.append(
                {"metric": metric, "recipe": recipe, "partitions": len(own)}
                | {"holds": held.mean(), "error": held.std(ddof=1) / len(own) ** 0.5}
                | {"half_width": half.mean(), "true_error": ((apart**2).mean() / 2) ** 0.5}
                | {"estimated_error": (error**2).mean() ** 0.5}
            )
    return rows


def components(partitions: Sequence[list[np.ndarray]]) -> dict[str, float]:
    """kappa and the variances of differences of R@1, means over pairs and populations, points^2."""
    found = []
    for scores in itertools.chain(*partitions):
        pairs = itertools.combinations(scores[..., 0], 2)
        differences = [first - other for first, other in pairs]
        kappa = kappa_of(differences)
        for cells in differences:
            cells = cells[:, ~np.isnan(cells).all(axis=0)]
            of_class = np.nanmean(cells, axis=0)
            within = np.nanvar(cells, axis=0, ddof=1)
            found.append((kappa, of_class.var(ddof=1), within.mean()))
    names = ("kappa", "of_class_means", "of_one_class_from_run_to_run")
    return dict(zip(names, np.mean(found, axis=0).tolist(), strict=True))


def table(parts: Sequence[Mapping]) -> str:
    lines = [
        "| data | populations | metric | error of a difference | pairs of populations "
        "| 95 % interval holds | half-width | its error, of the true one |",
        "|---|---|---|---|--:|--:|--:|--:|",
    ]
    for part in parts:
        for row in part["rows"]:
            cells = [part["data"], KINDS[part["populations"]], row["metric"], row["recipe"]]
            cells += [
                str(row["partitions"]),
                f"{100 * row['holds']:.1f} ± {100 * row['error']:.1f}%",
            ]
            cells += [f"{row['half_width']:.2f}"]
            cells += [f"{100 * row['estimated_error'] / row['true_error']:.0f}%"]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    from machine import machine, write_report

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", choices=["birds", "cars"])
    parser.add_argument("folder", type=Path, help="of the data set, with its features")
    parser.add_argument("--partitions", type=int, default=10, help="of each kind")
    parser.add_argument("--work", type=Path, default=REPOSITORY / "build" / "other_classes")
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.work.mkdir(parents=True, exist_ok=True)
    data = read_data(options.data, options.folder)
    kinds = ["classes", GROUPS[options.data]]
    measured = {kind: [] for kind in kinds}
    for partition in range(options.partitions):
        for kind in kinds:
            measured[kind].append(collect(data, options.data, kind, partition, options.work))
    parts = [
        {"data": options.data, "populations": kind, "classes": _classes(scores)}
        | {"losses": list(MINERS), "iterations": ITERATIONS, "components": components(scores)}
        | {"rows": calibrated(data, scores)}
        for kind, scores in measured.items()
    ]
    command = f"python benchmarks/other_classes.py {options.data} FOLDER"
    command += f" --partitions {options.partitions}"
    about = {"command": command, "machine": machine(["numpy", "scipy", "torch"])}
    parts = [part | about for part in parts]
    print(table(parts))
    if options.partitions < 2:
        return
    known = json.loads(OUTPUT.read_text())["parts"] if OUTPUT.exists() else []
    parts = [part for part in known if part["data"] != options.data] + parts
    parts.sort(key=lambda part: part["data"])
    write_report(OUTPUT, {"parts": parts})
    write_marked(PAGE, "other classes", table(parts))


def _classes(scores: Sequence[list[np.ndarray]]) -> float:
    """Classes of a population, on average."""
    tested = [np.isfinite(side[0, ..., 0]).any(axis=0).sum() for both in scores for side in both]
    return float(np.mean(tested))


if __name__ == "__main__":
    main()
