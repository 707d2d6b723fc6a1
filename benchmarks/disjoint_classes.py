"""Heads on the classes of two populations that share none, and what each class adds to scores."""

import itertools
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
from dmlbench.miners import build_miner  # noqa: E402
from dmlbench.samplers import build_sampler  # noqa: E402
from dmlbench.statistics.classes import METRICS  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402

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
