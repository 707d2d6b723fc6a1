"""How fast images come into training steps, from the device itself or from packed files."""

import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas
import torch
from dmlbench.data import _tables
from dmlbench.data import feed as feeds
from dmlbench.data.pack import SCHEMA
from dmlbench.data.pixels import Pixels
from dmlbench.data.transforms import build_transforms
from gpu_report import Finding
from gpu_step import Clock, Scale, Step, size_of
from step_memory import spec


def input_rates(clock: Clock, scale: Scale) -> Iterator[Finding]:
    """Images a second into training steps: resident on the device, or packed and pinned."""
    network = "resnet50" if "resnet50" in scale.networks else "convnet4"
    packed = size_of(network, scale) + 32
    with tempfile.TemporaryDirectory() as folder:
        images, channels = 16 * scale.networks[network], len(spec(network).network.mean)
        store = random_store(Path(folder), packed, images, channels)
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


def random_store(folder: Path, side: int, images: int, channels: int) -> Pixels:
    """Packed images of random bytes, in all more than a CPU's caches hold at full size."""
    bytes_each = side * side * channels
    pixels = np.random.default_rng(0).integers(0, 256, images * bytes_each, dtype=np.uint8)
    np.save(folder / "pixels.npy", pixels)
    rows = {
        "image_id": np.arange(images),
        "offset": np.arange(images) * bytes_each,
        **dict.fromkeys(("height", "width"), side),
        "channels": channels,
        "converted": None,
        "crc32": [zlib.crc32(image) for image in pixels.reshape(images, -1)],
    }
    _tables.write(pandas.DataFrame(rows), SCHEMA, {}, folder / "pixels.parquet")
    return Pixels(folder / "pixels.npy", folder / "pixels.parquet")


def _input_rate(clock: Clock, scale: Scale, network: str, store: Pixels) -> float:
    batch, pixels = scale.networks[network], size_of(network, scale)
    step = Step(network, batch, pixels, "bfloat16", "eager", clock.device)
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
        step(transform(some, generator))
        if begin is not None:
            done += batch
            if time.perf_counter() - begin > 2 * clock.seconds:
                break
    clock.wait()
    return done / (time.perf_counter() - begin)
