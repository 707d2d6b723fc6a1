"""What trainings, the preparation of data and searches compute at toy size."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import torch
from dmlbench.data.index import index
from dmlbench.data.pack import pack
from dmlbench.data.split import split
from dmlbench.plan.catalogs.places import merged
from dmlbench.plan.specs.spec import Spec
from dmlbench.plan.specs.versions import versions
from dmlbench.search.objective import TrainingObjective
from dmlbench.search.version import VERSION as SEARCH
from dmlbench.training import loop
from dmlbench.training.extraction import extract_features
from golden_parts import Numbers, summary
from PIL import Image
from safetensors.torch import load_file
from toy_data import ToyData

VALUES: dict[str, Any] = {
    "dataset": "toy",
    "network": {
        "backbone": {"name": "convnet", "widths": [4, 4]},
        "pooling": "average",
        "pixels": 12,
        "mode": "rgb",
        "mean": [0.5, 0.4, 0.6],
        "std": [0.5, 0.4, 0.3],
    },
    "embedding_dim": 4,
    "loss": {"name": "proxy_anchor"},
    "miner": None,
    "sampler": {"name": "class_balanced", "images_per_class": 3},
    "split": "half4fold",
    "fold": 0,
    "seed": 0,
    "epochs": 2,
    "batch_size": 9,
    "optimizer": {"name": "sgd", "learning_rate": 0.02, "momentum": 0.5},
    "transforms": {
        "train": [{"name": "random_crop", "size": 12}, {"name": "random_horizontal_flip"}],
        "test": [{"name": "center_crop", "size": 12}],
    },
    "selection": "best_validation_epoch",
}
MARGIN = {"loss": {"name": "margin"}, "miner": {"name": "distance_weighted_pairs"}}

# One field of a spec after the other; the key is its place.
CHANGES: dict[str, dict[str, Any]] = {
    "": {},
    "network.pooling": {"network": {"pooling": "maximum"}},
    "network.pooling: sum": {"network": {"pooling": "sum"}},
    "network.mode": {"network": {"mode": "gray", "mean": [0.5], "std": [0.5]}},
    "network.channels": {"network": {"channels": "bgr"}},
    "network.scale": {"network": {"scale": 2.0}},
    "network.mean": {"network": {"mean": [0.1, 0.2, 0.3]}},
    "network.std": {"network": {"std": [1.0, 2.0, 3.0]}},
    "network.frozen": {
        "network": {"frozen": [{"name": "center_crop", "size": 12}]},
        "transforms": {"train": [], "test": []},
    },
    "embedding_dim": {"embedding_dim": 3},
    "loss": {"loss": {"name": "triplet", "margin": 0.3}},
    "miner": MARGIN,
    "regularizers": {"regularizers": [{"name": "embedding_l2", "weight": 0.5}]},
    "regularizers: mixup": {"regularizers": [{"name": "manifold_mixup"}]},
    "regularizers: proximity": {"regularizers": [{"name": "proximity", "weight": 5.0}]},
    "regularizers: rho": MARGIN | {"regularizers": [{"name": "rho", "p_switch": 0.9}]},
    "sampler": {"sampler": {"name": "greedy_coreset", "pool_size": 12}},
    "sampler: profs": {
        "sampler": {"name": "profs", "images_per_class": 3},
        "regularizers": [{"name": "proximity", "weight": 5.0}],
    },
    "sampler: profs_hncm": {
        "loss": {"name": "soft_triple", "centers_per_class": 2},
        "sampler": {"name": "profs_hncm", "images_per_class": 3},
        "regularizers": [{"name": "proximity", "weight": 5.0}],
    },
    "memory": {"loss": {"name": "contrastive"}, "memory": {"size": 18, "start": 1}},
    "fold": {"fold": 1},
    "seed": {"seed": 1},
    "epochs": {"epochs": 0, "loss": None},
    "iterations_per_epoch": {"iterations_per_epoch": 1},
    "batch_size": {"batch_size": 6},
    "optimizer.learning_rate": {"optimizer": {"learning_rate": 0.01}},
    "optimizer.momentum": {"optimizer": {"momentum": 0.0}},
    "optimizer.weight_decay": {"optimizer": {"weight_decay": 0.5}},
    "optimizer.fused": {"optimizer": {"fused": True}},
    "optimizer.name": {"optimizer": {"name": "adam", "learning_rate": 0.01}},
    "optimizer.name: adamw": {
        "optimizer": {"name": "adamw", "learning_rate": 0.01, "weight_decay": 0.1}
    },
    "optimizer.name: rmsprop": {"optimizer": {"name": "rmsprop", "learning_rate": 0.01}},
    "optimizer.betas": {"optimizer": {"name": "adam", "learning_rate": 0.01, "betas": [0.5, 0.9]}},
    "schedule": {"schedule": {"step": 1, "gamma": 0.1}},
    "head_initialization": {"head_initialization": "torch_default"},
    "head_initialization: inputs": {"head_initialization": "kaiming_inputs"},
    "head_initialization: components": {"head_initialization": "principal_components"},
    "head_initialization: standardized": {"head_initialization": "standardized_components"},
    "head_initialization: identity": {"head_initialization": "identity"},
    "hidden_layers": {"hidden_layers": [5]},
    "head_factor": {"head_factor": 3.0},
    "loss_factor": {"loss_factor": 10.0},
    "loss_learning_rate": {"loss_learning_rate": 0.5},
    "loss_weight_decay": {"loss_weight_decay": 0.5},
    "warmup_epochs": {"warmup_epochs": 1},
    "clip_value": {"clip_value": 0.01},
    "frozen_batchnorm": {"frozen_batchnorm": "statistics"},
    "frozen_batchnorm: affine": {"frozen_batchnorm": "affine"},
    "frozen_batchnorm: both": {"frozen_batchnorm": "both"},
    "normalize": {"normalize": False, "optimizer": {"learning_rate": 0.001}},
    "transforms": {
        "transforms": {
            "train": [{"name": "random_resized_crop", "size": 10}],
            "test": [{"name": "center_crop", "size": 10}],
        }
    },
    "evaluate_every": {"evaluate_every": 2},
    "evaluation_distance": {
        "normalize": False,
        "optimizer": {"learning_rate": 0.001},
        "evaluation_distance": "euclidean",
    },
    "selection": {"selection": "last_epoch"},
    "selection: test": {"selection": "best_test_epoch"},
    "selection_metric": {"selection_metric": "map_at_r"},
    "epoch_metrics": {"epoch_metrics": ["r_precision", "nmi"]},
    "patience": {"patience": 1, "epochs": 4, "optimizer": {"learning_rate": 1e-30}},
}
# Fields whose other values need another device or compiler, or change no number of the toy.
WITHOUT = {
    "dataset", "split", "search", "precision", "compile", "network.backbone", "network.weights",
    "network.pixels", "gpus",
}  # fmt: skip


def toy_data(folder: Path, mode: str = "rgb") -> ToyData:
    """24 classes of four images: noise on waves that differ by class, some wide and some high."""
    folder.mkdir(parents=True, exist_ok=True)
    images, data = folder / "images", ToyData(*(folder / name for name in ("i", "s", "p", "t")))
    for number in range(96):
        label, which = divmod(number, 4)
        size = (12 + 2 * (which % 3), 12 + label % 4)
        y, x = np.mgrid[: size[1], : size[0]]
        waves = np.stack([np.sin(x * (label % 5 + k) + y * (label // 5)) for k in (1, 2, 3)], -1)
        noise = np.random.default_rng(number).integers(-80, 80, waves.shape)
        file = images / f"class{label:02d}" / f"{which}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.uint8(np.round(waves * 40) + noise + 125)).save(file)
    index([images], "class_folders", data.index)
    split(data.index, "half4fold", data.split)
    pack(data.index, [images], 12, mode, data.pixels, data.pixel_table)
    return data


def data() -> dict[str, Numbers]:
    """The tables and pixels that the preparation of data leaves."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for mode in ("rgb", "gray"):
            made = toy_data(Path(folder) / mode, mode)
            # Later columns, which say nothing about the rows.
            packed = pd.read_parquet(made.pixel_table).drop(columns="crc32")
            rows = pd.read_parquet(made.index).drop(columns="sha256")
            pixels = torch.from_numpy(np.load(made.pixels).astype(float))
            found[f"index {mode}"] = [rows[key].tolist()[::9] for key in rows]
            found[f"packed {mode}"] = [packed[key].tolist()[::9] for key in packed]
            found[f"pixels {mode}"] = summary(pixels)
    return found


def training_versions() -> Iterator[tuple[str, dict, dict[str, int]]]:
    """Each training: its key, its spec's values, and the versions that its folder's name covers."""
    for key, changes in CHANGES.items():
        values = Spec.model_validate(merged(VALUES, changes)).as_dict()
        yield key, values, versions(values)


def training(values: dict, made: ToyData) -> dict[str, Numbers]:
    """The history of a training, and both of its networks."""
    on_cpu = {"device": "cpu", "threads": 1}
    with tempfile.TemporaryDirectory() as name:
        stored = made.as_arguments()
        if values["network"]["frozen"] is not None:
            output = Path(name) / "features.safetensors"
            pixels = {"pixels": made.pixels, "pixel_table": made.pixel_table}
            extract_features(values["network"], **pixels, **on_cpu, output=output)
            stored = made.with_features(output).as_arguments()
        loop.train(values, **stored, **_files(Path(name)), **on_cpu)
        history = pq.read_table(Path(name) / "history.parquet").to_pydict()
        weights = [_weights(Path(name) / f"{file}.safetensors") for file in ("model", "last")]
    return {"history": list(map(list, history.items())), "weights": weights}


def _weights(file: Path) -> list[float]:
    tensors = load_file(file)
    return summary(torch.cat([tensors[name].double().flatten() for name in sorted(tensors)]))


def _files(folder: Path) -> dict[str, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    names = {
        "spec_file": "spec.yaml",
        "model": "model.safetensors",
        "last": "last.safetensors",
        "history": "history.parquet",
    }
    return {key: folder / name for key, name in names.items()}


def search_versions() -> dict[str, int]:
    values = Spec.model_validate(VALUES).as_dict()
    return versions(values) | {"search": SEARCH}


def search(made: ToyData) -> dict[str, Numbers]:
    """The score of a trial over two folds, and what it reports on the way."""
    specs = [Spec.model_validate(VALUES | {"fold": fold}).as_dict() for fold in (0, 1)]
    with tempfile.TemporaryDirectory() as name:
        arguments = {**made.as_arguments(), "device": "cpu", "threads": 1}
        objective = TrainingObjective(specs, Path(name), arguments)
        reported: list = []
        value = objective.evaluate(
            0, {"optimizer.learning_rate": 0.1}, lambda *report: reported.append(report)
        )
    return {"value": [value], "reported": [list(each) for each in reported]}
