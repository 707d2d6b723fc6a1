"""Stores of pixels as tests need them: small ones, images of one size, the check of a store."""

import hashlib
import zlib

import numpy as np
import pandas
from dmlbench.data import _tables
from dmlbench.data.pack import SCHEMA
from dmlbench.data.pixels import Pixels
from dmlbench.data.ragged import Ragged


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
            "crc32": [zlib.crc32(image) for image in images],
        }
    )
    np.save(folder / f"{len(set(sizes))}.npy", flat)
    facts = {"pixels_sha256": hashlib.sha256(flat).hexdigest()}
    _tables.write(rows, SCHEMA, facts, folder / f"{len(set(sizes))}.parquet")
    return Pixels(folder / f"{len(set(sizes))}.npy", folder / f"{len(set(sizes))}.parquet"), images


def images_of(store, ids):
    """Images of one size by their ids: uint8 [B, C, H, W]."""
    batch = store.batch(ids)
    return batch.padded() if isinstance(batch, Ragged) else batch


def is_as_packed(pixels, table):
    """Whether the pixels of a store are those that were packed."""
    found = hashlib.sha256(np.load(pixels)).hexdigest()
    return found == _tables.table_facts(table)["pixels_sha256"]
