"""How fast images come into training steps, from the device itself or from packed files."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from dmlbench.data import feed as feeds
from dmlbench.data.pixels import Pixels
from dmlbench.data.transforms import build_transforms
from gpu_equal import Toy
from gpu_report import Finding
from gpu_step import Clock, Scale, Step, size_of


def input_rates(clock: Clock, scale: Scale) -> Iterator[Finding]:
    """Images a second into training steps: resident on the device, or packed and pinned."""
    network = "resnet50" if "resnet50" in scale.networks else "convnet4"
    packed = size_of(network, scale) + 32
    with tempfile.TemporaryDirectory() as folder:
        store = _random_store(Path(folder), packed, scale.networks[network] * 8)
        rates = {}
        for way, share in (("resident", 1.0), ("packed", 0.0)):
            before, feeds.RESIDENT = feeds.RESIDENT, share
            try:
                rates[way] = _input_rate(clock, scale, network, store)
            finally:
                feeds.RESIDENT = before
            yield Finding("input", f"{network}, {way}", rates[way], "images/s")
    least = 0.95 if clock.device.type == "cuda" else None
    share = rates["packed"] / rates["resident"]
    yield Finding("input", f"{network}, packed of resident", share, "share", least=least)


def _random_store(folder: Path, side: int, images: int) -> Pixels:
    """Packed characters at another size: what they show does not matter."""
    toy = Toy(folder, side)
    return Pixels(toy.pixels, toy.table)


def _input_rate(clock: Clock, scale: Scale, network: str, store: Pixels) -> float:
    batch, pixels = scale.networks[network], size_of(network, scale)
    step = Step(network, batch, pixels, "bfloat16", "eager", clock.device)
    channels = step.images.shape[1]
    transform = build_transforms(
        [{"random_resized_crop": {"size": pixels}}, {"random_horizontal_flip": None}]
    )
    images = feeds.Feed(store, clock.device)
    generator = torch.Generator().manual_seed(0)
    draw = np.random.default_rng(0)
    ids = (draw.integers(0, len(store), batch) for _ in iter(int, 1))
    begin, done = None, 0
    warm = 3
    for count, some in enumerate(images.batches(ids)):
        if count == warm:
            clock.wait()
            begin = time.perf_counter()
        step(transform(some, generator).expand(-1, channels, -1, -1))
        if begin is not None:
            done += batch
            if time.perf_counter() - begin > 2 * clock.seconds:
                break
    clock.wait()
    return done / (time.perf_counter() - begin)
