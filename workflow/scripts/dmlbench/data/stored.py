"""The stored images of a data set: their pixels or, for frozen networks, their features."""

from pathlib import Path

from dmlbench.data.features import Features
from dmlbench.data.pixels import Pixels


def open_store(
    *, pixels: Path | None = None, pixel_table: Path | None = None, features: Path | None = None
) -> Pixels | Features:
    """Open a store.

    Args:
        pixels, pixel_table: the packed images.
        features: the file of their features instead.

    Raises:
        DamagedError, UserError: a damaged file.
    """
    return Pixels(pixels, pixel_table) if features is None else Features(features)
