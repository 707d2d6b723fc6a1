"""Whether a device computes what the CPU computes in float64: losses, miners, metrics, images."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import torch
from dmlbench import losses, miners
from dmlbench.data import feed as feeds
from dmlbench.data.generate import generate
from dmlbench.data.index import index as make_index
from dmlbench.data.pack import pack
from dmlbench.data.pixels import Pixels
from dmlbench.data.split import split
from dmlbench.data.transforms import build_transforms
from dmlbench.evaluation import evaluate
from dmlbench.evaluation.names import CLUSTERING, RETRIEVAL, STRUCTURE
from dmlbench.training import loop
from dmlbench.tuples import Pairs
from gpu_report import Finding, attempted
from safetensors.torch import load_file

CLASSES, DIM, IMAGES_PER_CLASS = 24, 64, 5

# float32 against float64, relative to the largest entry; a gradient in bfloat16 has eight bits.
VALUE, GRADIENT, REDUCED = 1e-4, 1e-3, 2e-2
DRAWING = ("random", "semi_hard_random", "soft_hard", "distance_weighted")
DRAWING += (
    "distance_weighted_of_batch",
    "distance_weighted_pairs",
    "karaman_region",
    "one_positive",
)
STEPS = {
    "random_crop": [{"random_crop": {"size": 24}}],
    "random_resized_crop": [{"random_resized_crop": {"size": 24}}],
    "resize, center_crop": [{"resize": {"size": 28}}, {"center_crop": {"size": 24}}],
    "random_horizontal_flip": [{"random_horizontal_flip": None}],
    "random_affine": [{"random_affine": {"degrees": 10}}],
    "color_jitter": [{"color_jitter": {"brightness": 0.3, "contrast": 0.3}}],
}


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    """Embeddings of unit length that bfloat16 holds, float64 [B, D], and labels [B]."""
    generator = torch.Generator().manual_seed(0)
    # Four classes have no image in the batch.
    labels = torch.arange(CLASSES - 4).repeat_interleave(IMAGES_PER_CLASS)
    centers = torch.randn(CLASSES, DIM, generator=generator)[labels]
    noise = torch.randn(len(labels), DIM, generator=generator)
    embeddings = torch.nn.functional.normalize(centers + noise).bfloat16()
    return embeddings.double(), labels


def _value_and_gradients(name: str, dtype: torch.dtype, device: torch.device) -> list:
    torch.manual_seed(0)
    loss = losses.build_loss(name, num_classes=CLASSES, embedding_dim=DIM)
    loss = (loss.double() if dtype == torch.float64 else loss).to(device)
    embeddings, labels = batch()
    embeddings = embeddings.to(device, dtype).requires_grad_()
    torch.manual_seed(0)
    value = loss(embeddings, labels.to(device))
    wanted = [embeddings, *loss.parameters()]
    gradients = torch.autograd.grad(value, wanted, allow_unused=True)
    kept = [value.detach(), *(each for each in gradients if each is not None)]
    return [each.double().cpu() for each in kept]


def _apart(found: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest difference, as a share of the largest entry."""
    return float((found - expected).abs().max() / expected.abs().max().clamp_min(1e-6))


def equal_losses(device: torch.device, names: list[str]) -> Iterator[Finding]:
    """Values and gradients of losses, in float32 and of bfloat16 embeddings."""
    for name in names:
        yield from attempted("losses", name, _equal_loss(device, name))


def _equal_loss(device: torch.device, name: str) -> Iterator[Finding]:
    value, *gradients = _value_and_gradients(name, torch.float64, torch.device("cpu"))
    for dtype, allowed in ((torch.float32, GRADIENT), (torch.bfloat16, REDUCED)):
        found, *theirs = _value_and_gradients(name, dtype, device)
        kind = str(dtype).removeprefix("torch.")
        yield Finding("losses", f"{name}, {kind}", _apart(found, value), "relative", most=VALUE)
        pairs = zip(theirs, gradients, strict=True)
        # Python's own max passes over a NaN.
        worst = float(np.max([_apart(*pair) for pair in pairs]))
        yield Finding("losses", f"{name}, {kind}, gradients", worst, "relative", most=allowed)


def equal_miners(device: torch.device, names: list[str]) -> Iterator[Finding]:
    """Tuples that differ from the CPU's; of miners that draw, tuples that are none."""
    for name in names:
        yield from attempted("miners", name, _equal_miner(device, name))


def _equal_miner(device: torch.device, name: str) -> Iterator[Finding]:
    embeddings, labels = batch()
    embeddings = embeddings.float()
    same = labels[:, None] == labels
    there = miners.build_miner(name)(embeddings.to(device), labels.to(device))
    there = type(there)(*(part.cpu() for part in there))
    if name in DRAWING:
        positive = there.positive if isinstance(there, Pairs) else there.valid
        wrong = (positive & ~(same & ~torch.eye(len(labels), dtype=torch.bool))).sum()
        if isinstance(there, Pairs):
            wrong += (there.negative & same).sum()
        else:
            wrong += (same.gather(1, there.negative) & there.valid).sum()
    else:
        here = miners.build_miner(name)(embeddings.double(), labels)
        wrong = sum((mine != other).sum() for mine, other in zip(there, here, strict=True))
    yield Finding("miners", name, float(wrong), "wrong tuples", most=0)


def equal_metrics(device: torch.device, images: int) -> Iterator[Finding]:
    """Every metric: ranks to the bit, sums to rounding."""
    generator = np.random.default_rng(0)
    labels = generator.integers(0, images // 8, images)
    centers = generator.standard_normal((images // 8, 32))
    vectors = (centers[labels] + 1.2 * generator.standard_normal((images, 32))).astype(np.float32)
    names = [*RETRIEVAL, "recall_at_1", "recall_at_8", "precision_at_4", *CLUSTERING, *STRUCTURE]
    here = evaluate(vectors, labels, metrics=names).scores
    there = evaluate(vectors, labels, metrics=names, device=device).scores
    for name in names:
        # A distance that is equal to rounding can put an image into another cluster.
        allowed = {**dict.fromkeys(CLUSTERING, 1e-2), **dict.fromkeys(STRUCTURE, 1e-5)}
        apart = abs(there[name] - here[name])
        yield Finding("metrics", name, apart, "difference", most=allowed.get(name, 0))


def toy_files(folder: Path) -> dict[str, Path]:
    """What a training takes of a `Toy`."""
    return {
        "index": folder / "images.parquet",
        "split": folder / "half.parquet",
        "pixels": folder / "pixels.npy",
        "pixel_table": folder / "pixels.parquet",
    }


class Toy:
    """Printed characters that train in seconds, drawn, indexed, split and packed in a folder."""

    def __init__(self, folder: Path, size: int = 32):
        archive, self.files = folder / "toy.zip", toy_files(folder)
        self.pixels, self.table = self.files["pixels"], self.files["pixel_table"]
        generate("glyphs", archive, characters=20, images_per_character=8, size=size)
        make_index([archive], "class_folders", self.files["index"])
        split(self.files["index"], "half", self.files["split"])
        pack(self.files["index"], [archive], size, "gray", self.pixels, self.table)


def equal_images(device: torch.device) -> Iterator[Finding]:
    """Batches by pinned memory, to the bit; augmented ones, at most one of 255 levels apart."""
    with tempfile.TemporaryDirectory() as folder:
        toy = Toy(Path(folder))
        store, ids = Pixels(toy.pixels, toy.table), [np.arange(100)]
        yield from attempted("images", "pinned", _pinned_batches(device, store))
        for name, steps in STEPS.items():
            yield from attempted("images", name, _equal_images(device, store, ids, name, steps))


def _pinned_batches(device: torch.device, store: Pixels) -> Iterator[Finding]:
    """Whether a batch's pinned memory stays its own until the device, far behind, has copied it."""
    draw = np.random.default_rng(0)
    ids = [draw.integers(0, len(store), 64) for _ in range(50)]
    work = torch.ones(2 * (4096 if device.type == "cuda" else 16,), device=device)
    with mock.patch.object(feeds, "RESIDENT", 0):
        feed = feeds.Feed(store, device)
        found = []
        for images in feed.batches(ids):
            work @ work
            found.append(images)
    wrong = sum(
        int((images.cpu() != store.batch(some)).sum())
        for some, images in zip(ids, found, strict=True)
    )
    yield Finding("images", "batches through pinned memory", wrong, "wrong bytes", most=0)


def _equal_images(
    device: torch.device, store: Pixels, ids: list[np.ndarray], name: str, steps: list[dict]
) -> Iterator[Finding]:
    found = []
    for where in (torch.device("cpu"), device):
        (images,) = feeds.Feed(store, where).batches(ids)
        generator = torch.Generator().manual_seed(0)
        found.append(build_transforms(steps)(images, generator).cpu())
    apart = 255 * float((found[0] - found[1]).abs().max())
    yield Finding("images", name, apart, "levels of 255", most=1.01)


def resumed(device: torch.device, precision: str, *, compiled: bool = False) -> Iterator[Finding]:
    """Weights that differ where a training was stopped after its second epoch and continued."""
    values = {
        "dataset": "toy",
        "network": {
            "backbone": {"name": "convnet", "widths": [8, 8]},
            "pooling": "average",
            "pixels": 32,
            "mode": "gray",
            "mean": [0.5],
            "std": [0.5],
        },
        "embedding_dim": 8,
        "loss": "triplet",
        "miner": "semi_hard_random",
        "sampler": {"name": "class_balanced", "images_per_class": 4},
        "split": "half",
        "fold": None,
        "seed": 0,
        "epochs": 3,
        "iterations_per_epoch": 5,
        "batch_size": 20,
        "optimizer": {"name": "adamw", "learning_rate": 0.01, "fused": compiled},
        "precision": precision,
        "compile": compiled,
        "transforms": {"train": [{"name": "random_affine", "degrees": 10}]},
        "selection": "best_test_epoch",
    }

    class StoppedError(Exception):
        pass

    def stop(trainer):
        if trainer.epoch == 2:
            raise StoppedError

    with tempfile.TemporaryDirectory() as folder:
        toy = Toy(Path(folder))

        def weights(name: str, **arguments) -> dict:
            place = Path(folder) / name
            place.mkdir(exist_ok=True)
            files = {
                "spec_file": place / "spec.yaml",
                "model": place / "model.safetensors",
                "last": place / "last.safetensors",
                "history": place / "history.parquet",
            }
            threads = torch.get_num_threads()
            loop.train(
                values, **toy.files, **files, device=device.type, threads=threads, **arguments
            )
            return load_file(files["last"])

        whole = weights("whole")
        try:
            weights("stopped", after_epoch=stop)
        except StoppedError:
            continued = weights("stopped")
        wrong = sum(int((whole[name] != continued[name]).sum()) for name in whole)
    what = f"stopped and continued, {precision}" + (", compiled and fused" if compiled else "")
    yield Finding("resuming", what, wrong, "weights", most=0)
