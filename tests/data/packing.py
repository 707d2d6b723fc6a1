"""Encoded images, and packs made of them."""

import io

import numpy as np
from dmlbench.data import pack as pack_module
from dmlbench.data.index import index
from dmlbench.data.pixels import Pixels
from layout_archives import write_zip
from PIL import Image


def encoded(width, height, mode="RGB", suffix="PNG", seed=0, **options):
    channels = {"RGB": 3, "L": 1, "CMYK": 4, "RGBA": 4}[mode]
    pixels = np.random.default_rng(seed).integers(0, 255, (height, width, channels))
    image = Image.fromarray(pixels.astype(np.uint8).squeeze(), mode)
    buffer = io.BytesIO()
    image.save(buffer, suffix, **options)
    return buffer.getvalue()


class Made:
    """An archive, its index and its pack, in one folder."""

    def __init__(self, folder, members, size=None, mode="rgb", archive=None, **options):
        self.folder = folder
        self.archive = archive or write_zip(folder / "a.zip", members)
        index([self.archive], "class_folders", folder / "index")
        self.pixels, self.table = folder / "out" / "pixels.npy", folder / "out" / "pixels.parquet"
        pack_module.pack(
            folder / "index", [self.archive], size, mode, self.pixels, self.table, **options
        )

    def open(self):
        return Pixels(self.pixels, self.table)


def output_files(folder):
    out = folder / "out"
    return sorted(path.name for path in out.iterdir()) if out.exists() else []
