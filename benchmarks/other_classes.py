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
import sys
import tarfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import torch  # noqa: E402
import yaml  # noqa: E402
from dmlbench.evaluation import evaluate  # noqa: E402
from dmlbench.losses import build_loss  # noqa: E402
from dmlbench.marked_text import write_marked  # noqa: E402
from dmlbench.miners import build_miner  # noqa: E402
from dmlbench.samplers import build_sampler  # noqa: E402
from dmlbench.statistics.classes import METRICS  # noqa: E402
from dmlbench.statistics.equivalence import Difference  # noqa: E402
from dmlbench.statistics.other_classes import (  # noqa: E402
    kappa_of,
    of_classes,
    of_splits,
    prior_of,
)
from safetensors.numpy import load_file  # noqa: E402
from scipy.special import stdtrit  # noqa: E402

PAGE = REPOSITORY / "docs" / "intervals.md"
OUTPUT = REPOSITORY / "results" / "benchmarks" / "other-classes.json"
MINERS = {
    "contrastive": None,
    "triplet": "semi_hard",
    "proxy_nca": None,
    "arcface": None,
    "multi_similarity": "multi_similarity",
    "proxy_anchor": None,
}
"""Loss -> its miner in the studies. Losses that do not learn on birds or cars are left out."""

DIMENSIONS, BATCH, IMAGES_PER_CLASS = 128, 128, 4
ITERATIONS = 300
"""Fewer than the studies' 1,000: more populations in the same time."""

HALVES = 3
INDEPENDENT, OF_SPLITS = "splits as independent (t)", "shared classes (`of_splits`)"
OF_CLASSES, CLUSTERED = "scores of classes (`of_classes`)", "the same, clustered by genus or maker"
KINDS = {"classes": "drawn classes", "genera": "drawn genera", "makers": "drawn makers"}
"""What is divided into two populations -> in words."""

GROUPS = {"birds": "genera", "cars": "makers"}
GROUP_WORD = {"birds": -1, "cars": 0}
"""Data -> which word of a class's name says its genus or maker."""


class Data(NamedTuple):
    """Frozen features of a data set.

    Attributes:
        features: float32 [images, F].
        labels: of the images, from 0 to the number of classes.
        group: of each class, the genus of a bird or the maker of a car.
    """

    features: np.ndarray
    labels: np.ndarray
    group: np.ndarray


def read_data(name: str, folder: Path) -> Data:
    index = pd.read_parquet(folder / "images.parquet")
    (file,) = folder.glob("features-efficientnet_lite0-*.safetensors")
    stored = load_file(file)
    by_image = index.set_index("image_id").loc[stored["image_id"]]
    names = by_image.drop_duplicates("label").sort_values("label")["class_name"]
    words = names.str.replace(r"[^A-Za-z]+", " ", regex=True).str.split()
    group = words.str[GROUP_WORD[name]].str.lower()
    return Data(stored["features"], by_image["label"].to_numpy(), group.to_numpy())


def published_values(data: str) -> dict[str, dict[str, float]]:
    """Loss -> the medians, over the splits of the classes, of what its searches found."""
    found: dict[str, list] = {loss: [] for loss in MINERS}
    archive = REPOSITORY / "results" / "published" / f"psomas2020_{data}" / "searches.tar.xz"
    with tarfile.open(archive) as files:
        for member in files:
            if member.name.endswith("/best.yaml"):
                best = yaml.safe_load(files.extractfile(member))
                for loss in MINERS:
                    if f"_160_{loss}_{DIMENSIONS}_" in best["search"]:
                        found[loss].append(best["values"])
    return {loss: pd.DataFrame(values).median().to_dict() for loss, values in found.items()}


def populations(data: Data, kind: str, random) -> tuple[np.ndarray, np.ndarray]:
    """Two sets of classes of equal, even size that share no class, or no group."""
    classes = len(data.group)
    if kind == "classes":
        drawn, size = random.permutation(classes), classes // 4 * 2
        return drawn[:size], drawn[size : 2 * size]
    groups = [np.flatnonzero(data.group == name) for name in np.unique(data.group)]
    sides: tuple[list, list] = ([], [])
    for group in sorted((groups[each] for each in random.permutation(len(groups))), key=len)[::-1]:
        min(sides, key=len).extend(group)
    size = min(map(len, sides)) // 2 * 2
    return tuple(random.permutation(side)[:size] for side in sides)


def halves(classes: np.ndarray, random) -> list[tuple[np.ndarray, np.ndarray]]:
    """Classes that train and that test, each pair followed by its swap."""
    splits = []
    for _ in range(HALVES):
        first, second = np.split(random.permutation(classes), 2)
        splits += [(first, second), (second, first)]
    return splits


def trained(
    data: Data, splits: Sequence, loss: str, values: Mapping[str, float], seed: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The linear heads of one loss on several splits, trained at once: [H, F, D] and [H, 1, D]."""
    heads, width = len(splits), data.features.shape[1]
    torch.manual_seed(seed)
    # As nn.init.kaiming_normal_(fan_out) of the recipe's heads.
    weight = (torch.randn(heads, width, DIMENSIONS) * (2 / DIMENSIONS) ** 0.5).requires_grad_()
    bias = torch.zeros(heads, 1, DIMENSIONS, requires_grad=True)
    own = {name.removeprefix("loss."): each for name, each in values.items() if "loss." in name}
    objectives = [
        build_loss(loss, num_classes=len(train), embedding_dim=DIMENSIONS, **own)
        for train, _ in splits
    ]
    miner = MINERS[loss] and build_miner(MINERS[loss])
    rate = values["optimizer.learning_rate"]
    groups = [{"params": [weight, bias], "lr": rate}]
    of_losses = [parameter for each in objectives for parameter in each.parameters()]
    if of_losses:
        groups.append({"params": of_losses, "lr": rate * values.get("loss_factor", 1.0)})
    optimizer = torch.optim.AdamW(groups, weight_decay=1e-4)
    images = [np.flatnonzero(np.isin(data.labels, train)) for train, _ in splits]
    labels = [
        np.searchsorted(np.sort(train), data.labels[own])
        for (train, _), own in zip(splits, images, strict=True)
    ]
    features = torch.from_numpy(data.features)
    together = zip(*map(_batches, labels, itertools.count(seed)), strict=True)
    for batches in itertools.islice(together, ITERATIONS):
        chosen = np.stack([own[batch] for own, batch in zip(images, batches, strict=True)])
        embedded = torch.nn.functional.normalize(
            torch.baddbmm(bias, features[torch.from_numpy(chosen)], weight), dim=2
        )
        total = embedded.new_zeros(())
        for each, of_class, batch, vectors in zip(
            objectives, labels, batches, embedded, strict=True
        ):
            target = torch.from_numpy(of_class[batch])
            mined = (miner(vectors.detach(), target),) if miner else ()
            total = total + each(vectors, target, *mined)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
    return weight.detach(), bias.detach()


def _batches(labels: np.ndarray, seed: int):
    sampler = build_sampler(
        "class_balanced", labels, batch_size=BATCH, seed=seed, images_per_class=IMAGES_PER_CLASS
    )
    for epoch in itertools.count():
        yield from sampler.epoch(epoch)


def scored(data: Data, splits: Sequence, weight: torch.Tensor, bias: torch.Tensor) -> np.ndarray:
    """What each class adds to the scores of each run, [runs, classes, metrics], in points.

    NaN where a class was not tested; as `statistics.classes.read_classes` has it.
    """
    found = np.full((len(splits), len(data.group), len(METRICS)), np.nan)
    for run, (_, test) in enumerate(splits):
        images = np.flatnonzero(np.isin(data.labels, test))
        embedded = torch.from_numpy(data.features[images]) @ weight[run] + bias[run]
        result = evaluate(embedded.numpy(), data.labels[images], metrics=list(METRICS))
        labels = data.labels[images][result.row]
        queries = np.bincount(labels, minlength=len(data.group))[test]
        for column, metric in enumerate(METRICS):
            sums = np.bincount(labels, result.per_query[metric], minlength=len(data.group))
            found[run, test, column] = 100 * sums[test] / queries.mean()
    return found


def collect(data: Data, name: str, kind: str, partition: int, work: Path) -> list[np.ndarray]:
    """The scores of all losses in two populations, each [losses, runs, classes, metrics]."""
    random = np.random.default_rng([list(KINDS).index(kind), partition])
    values, found = published_values(name), []
    for side, classes in enumerate(populations(data, kind, random)):
        splits = halves(classes, random)
        file = work / f"{name}-{kind}-{partition:02}-{side}.npy"
        if not file.exists():
            began = time.process_time()
            seed = 10_000 * partition + 1_000 * side
            scores = [
                scored(data, splits, *trained(data, splits, loss, values[loss], seed))
                for loss in MINERS
            ]
            np.save(file, np.stack(scores))
            print(f"{file.name}: {time.process_time() - began:.0f} CPU seconds", file=sys.stderr)
        found.append(np.load(file))
    return found


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
