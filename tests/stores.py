"""Small stores of random pixels."""

import hashlib

import numpy as np
import pandas
from dmlbench.data import _tables
from dmlbench.data.pack import SCHEMA
from dmlbench.data.pixels import Pixels


def write_store(folder, sizes, channels=3, seed=0):
    """A store of images of these heights and widths; returns it and the images [H, W, C]."""
    folder.mkdir(exist_ok=True)
    generator = np.random.default_rng(seed)
    images = [generator.integers(0, 256, (*size, channels), dtype=np.uint8) for size in sizes]
    flat = np.concatenate([image.ravel() for image in images])
    lengths = [image.size for image in images]
    rows = pandas.DataFrame(
        {
            "image_id": range(len(images)),
            "offset": np.cumsum([0, *lengths[:-1]]),
            "height": [height for height, _ in sizes],
            "width": [width for _, width in sizes],
            "channels": channels,
            "converted": None,
        }
    )
    np.save(folder / f"{len(set(sizes))}.npy", flat)
    facts = {"pixels_sha256": hashlib.sha256(flat).hexdigest()}
    _tables.write(rows, SCHEMA, facts, folder / f"{len(set(sizes))}.parquet")
    return Pixels(folder / f"{len(set(sizes))}.npy", folder / f"{len(set(sizes))}.parquet"), images
