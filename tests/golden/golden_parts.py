"""What each part computes on a toy input: a few numbers or words for every value of its options."""

import io
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import torch
from dmlbench import registry
from dmlbench.data.archives import open_all
from dmlbench.data.ragged import Ragged
from dmlbench.experiments import build_experiment
from dmlbench.losses import build_loss
from dmlbench.miners import build_miner
from dmlbench.plan.catalogs.naming import defaults
from dmlbench.plan.catalogs.ranges import Parameter
from dmlbench.regularizers import build_regularizer
from dmlbench.samplers import Batch, LearnsFromEmbeddings, build_sampler
from dmlbench.search.distributions import distribution_around, values_of
from dmlbench.tuples import Pairs, Triplets, all_pairs
from golden_archives import ARCHIVES
from golden_options import variations
from icon_sets import three_sets
from optuna.trial import TrialState, create_trial
from PIL import Image

Numbers = list[Any]


def loss(name: str, options: dict) -> dict[str, Numbers]:
    takes = registry.annotation("losses", name, "forward", "tuples") or ""
    found = {}
    for key, labels in (
        ("odd", [0, 3, 3, 1, 0, 5, 7, 7, 7, 7, 2]),
        ("even", [0, 0, 0, 1, 1, 1] * 2),
    ):
        torch.manual_seed(0)
        built = build_loss(name, num_classes=8, embedding_dim=6, **options).double()
        x = _points(len(labels), 6)
        y = torch.tensor(labels)
        found[key] = _loss_values(built, x, y)
        if takes:
            found[f"{key} mined"] = _loss_values(built, x, y, _tuples(y, takes.split(" | ")[0]))
    return found


def _loss_values(built: torch.nn.Module, x: torch.Tensor, *rest) -> Numbers:
    x = x.clone().requires_grad_()
    of = [x, *built.parameters()]
    value = built(x, *rest)
    gradients = torch.autograd.grad(value, of, allow_unused=True)
    return [[value.item()], *(summary(each) for each in gradients if each is not None)]


def _tuples(labels: torch.Tensor, kind: str) -> Pairs | Triplets:
    """Half of the pairs, or every triplet with the last negative."""
    positive, negative = all_pairs(labels)
    if kind == "Pairs":
        half = torch.arange(len(labels) ** 2).reshape(positive.shape) % 2 == 0
        return Pairs(positive & half, negative & ~half)
    last = len(labels) - 1 - negative.flip(1).int().argmax(1)
    return Triplets(last[:, None].expand_as(positive).contiguous(), positive)


def miner(name: str, options: dict) -> dict[str, Numbers]:
    x = torch.nn.functional.normalize(_points(12, 4))
    batches = {"rows": x}
    if options.get("centered"):
        # without it, what is mined of these depends on the order of sums
        near = torch.nn.functional.normalize(1 + x / 300)
        batches["rows of single precision that are close together"] = near.float()
    return {key: _mined(name, options, batch) for key, batch in batches.items()}


def _mined(name: str, options: dict, x: torch.Tensor) -> Numbers:
    torch.manual_seed(0)
    built = build_miner(name, **defaults("miners", name) | options)
    mined = built(x, torch.arange(12) % 3)
    if isinstance(mined, Triplets):
        masks = [mined.valid, mined.negative * mined.valid]
    else:
        masks = [mined.positive, mined.negative]
    weights = torch.arange(1, 13)
    return [(mask * weights).sum(1).tolist() for mask in masks]


def sampler(name: str, options: dict) -> dict[str, Numbers]:
    labels = np.array([0, 1, 2, 3, 4, 5] * 4 + [1, 2, 2])
    built = build_sampler(name, labels, batch_size=8, seed=3, **options)
    batches = []
    for epoch in range(3):
        for batch in built.epoch(epoch):
            batch = batch if isinstance(batch, Batch) else Batch(batch)
            batches.append(
                [batch.rows, batch.representatives, batch.projection]
                if batch.representatives is not None
                else batch.rows
            )
            if isinstance(built, LearnsFromEmbeddings):
                built.update(batch.rows, _points(len(labels), 3)[batch.rows].float())
    return {"length": [len(built)], "batches": _plain(batches)}


def regularizer(name: str, options: dict) -> dict[str, Numbers]:
    built = build_regularizer(name, **options)
    torch.manual_seed(0)
    match built.acts_on:
        case "tuples":
            y = torch.arange(40) % 2
            found = [built(_tuples(y, kind)) for kind in ("Pairs", "Triplets")]
            return {"tuples": [part.int().sum(1).tolist() for tuples in found for part in tuples]}
        case "embeddings":
            return {"penalty": _loss_values(_Wrapped(built), _points(5, 4))}
        case "weights":
            built.snapshot([_points(5, 4), _points(2, 3)])
            moved = [_points(5, 4) * 1.1, _points(2, 3) - 0.3]
            return {"penalty": [float(built(moved))]}
    first, second = torch.nn.Linear(4, 4).double(), torch.nn.Linear(4, 2).double()
    network = torch.nn.Sequential(first, torch.nn.Tanh(), second)
    x, y = _points(6, 4), torch.arange(6) % 2
    found = []
    for _ in range(3):
        with built.mixing([network, second], len(x)) as mixture:
            embeddings = network(x)
        value = mixture.loss(lambda e, labels: e[labels == 1].sum(), embeddings, y)
        found.append([mixture.weight, value.item(), *summary(embeddings)])
    return {"mixed": found}


class _Wrapped(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def backbone(name: str, options: dict) -> dict[str, Numbers]:
    torch.manual_seed(0)
    context = {"input_channels": 3}
    built = registry.build("networks/backbones", name, context=context, **options)
    side = options.get("image_size", 64)
    images = _points(1, 3 * side * side).float().reshape(1, 3, side, side)
    with torch.inference_mode():
        return {"features": [built.features], "maps": summary(built.eval()(images))}


def transform(name: str, options: dict) -> dict[str, Numbers]:
    built = registry.build("data/transforms", name, **options)
    images = (_points(3, 3 * 20 * 24).reshape(3, 3, 20, 24) * 80 + 128).clamp(0, 255).byte()
    found = {"images": _transformed(built, images)}
    if hasattr(built, "takes_ragged"):
        sizes = np.array([[20, 24], [15, 18], [26, 14]])
        ends = (sizes.prod(axis=1) * 3).cumsum()
        flat = images.flatten().repeat(2)[: ends[-1]]
        ragged = Ragged.packed(flat, np.concatenate([[0], ends[:-1]]), sizes, 3)
        found["ragged"] = _transformed(built, ragged)
    return found


def _transformed(built, images) -> Numbers:
    made = built(images, torch.Generator().manual_seed(0))
    return [[list(image.shape), summary(image)] for image in made]


def split(name: str, options: dict) -> dict[str, Numbers]:
    labels = np.repeat(np.arange(24), 4)
    subsets = np.where(labels % 3 == 0, "test", "train")
    frame = pd.DataFrame({"image_id": range(len(labels)), "label": labels, "subset": subsets})
    rows = registry.build("data/splits", name, **options)(frame)
    rows = rows.sort_values(["fold", "image_id"])
    by_fold = rows.groupby("fold")["role"].agg(lambda roles: "".join(role[0] for role in roles))
    return {f"fold {fold}": [roles] for fold, roles in by_fold.items()}


def layout(name: str, options: dict) -> dict[str, Numbers]:
    with tempfile.TemporaryDirectory() as folder:
        opened = list(open_all(ARCHIVES[name](Path(folder))))
        rows = registry.build("data/layouts", name, **options)(opened)
        for archive in opened:
            archive.__exit__()
    known = ("member", "label", "class_name", "subset", "left", "right", "group", "designer", "row")
    return {key: _plain(rows[key].tolist()) for key in known if key in rows}


def generator(name: str, options: dict) -> dict[str, Numbers]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "drawn.zip"
        sets = three_sets(Path(folder)) if name == "drawings" else []
        registry.build("data/generators", name, **options).draw(path, *sets)
        (archive,) = open_all([path])
        with archive:
            images = [
                np.asarray(Image.open(io.BytesIO(archive.read(member)))).astype(float)
                for member in archive.members
            ]
            members = list(archive.members)
    return {"members": members, "images": [summary(torch.from_numpy(image)) for image in images]}


def experiment(name: str, options: dict) -> dict[str, Numbers]:
    outcome = build_experiment(name, **options).run(1)
    numbers = [array for array in outcome.arrays.values() if array.dtype.kind in "biuf"]
    joined = torch.from_numpy(np.concatenate([[0.0], *map(np.ravel, numbers)]))
    arrays = [[key, *array.shape] for key, array in outcome.arrays.items()]
    return {"table": outcome.table["value"].tolist(), "arrays": [arrays, summary(joined)]}


PARAMETERS = {
    "a": Parameter(low=0, high=1, step=0.5),
    "b": Parameter(choices=("x", "y", True)),
    "c": Parameter(low=1e-4, high=1, log=True),
    "d": Parameter(low=1, high=9, integer=True),
    "e": Parameter(low=-2.0, high=3.0),
}
GRID = {key: PARAMETERS[key] for key in "ab"}


def strategy(name: str, options: dict) -> dict[str, Numbers]:
    parameters = GRID if name == "coordinate" else PARAMETERS
    start = {"a": 0.25, "b": "x"}
    given = {"parameters": parameters, "spec_values": start, "seed": 5, "search": ""}
    built = registry.build("search/strategies", name, context=given, **options)
    study = optuna.create_study(direction="maximize")
    found = []
    while len(found) < 8 and (proposed := built.propose(study)) is not None:
        kinds = {key: distribution_around(parameters[key], each) for key, each in proposed.items()}
        value = -abs(proposed["a"] - 0.4) + len(str(proposed["b"]))
        trial = create_trial(params=proposed, distributions=kinds, value=value)
        study.add_trial(trial)
        found.append(_plain(list(values_of(trial, parameters).values())))
    return {"proposed": found}


def pruner(name: str, options: dict) -> dict[str, Numbers]:
    built = registry.build("search/pruners", name, **options).pruner
    study = optuna.create_study(direction="maximize", pruner=built, study_name="toy")
    given_up = []
    for number in range(8):
        scores = {step: (number * 5 % 8) + step / 9 for step in range(1, 10)}
        trial = study.ask()
        pruned_at = 0
        for step, score in scores.items():
            trial.report(score, step)
            if trial.should_prune():
                pruned_at = step
                break
        given_up.append(pruned_at)
        study.tell(trial, **({"state": TrialState.PRUNED} if pruned_at else {"values": score}))
    return {"given up at": given_up}


PACKAGES = {
    "data/generators": generator,
    "data/layouts": layout,
    "data/splits": split,
    "data/transforms": transform,
    "experiments": experiment,
    "losses": loss,
    "miners": miner,
    "networks/backbones": backbone,
    "regularizers": regularizer,
    "samplers": sampler,
    "search/pruners": pruner,
    "search/strategies": strategy,
}


def computed(package: str, name: str) -> dict[str, Numbers]:
    """The values of a part: {"alpha=48.0: odd": [...], ...}."""
    found = {}
    for options, given in variations(package, name):
        for key, numbers in PACKAGES[package](name, given).items():
            found[f"{options}: {key}".removeprefix(": ")] = numbers
    return found


def summary(tensor: torch.Tensor) -> list[float]:
    """A tensor as three numbers, which any change of an entry changes."""
    flat = tensor.detach().double().flatten()
    weights = torch.cos(torch.arange(len(flat), dtype=torch.float64))
    return [float(flat.abs().sum()), float(flat @ weights), float(flat[len(flat) // 2 :].sum())]


def _points(count: int, size: int) -> torch.Tensor:
    """Points [count, size] in float64, the same everywhere."""
    index = torch.arange(count * size, dtype=torch.float64)
    return (torch.sin(index * 12.9898 + 1) * 43758.5453).frac().reshape(count, size) * 2


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_plain(each) for each in value]
    return value
