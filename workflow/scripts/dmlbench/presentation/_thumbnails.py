"""Thumbnails of packed images."""

import numpy as np

from dmlbench.data.pixels import Pixels
from dmlbench.data.ragged import Ragged
from dmlbench.data.transforms.center_crop import CenterCrop
from dmlbench.data.transforms.resize import Resize

SIDE = 64
"""Largest side of a thumbnail in pixels."""

_AT_ONCE = 256
"""Images that are resized at once."""


def thumbnails(pixels: Pixels, image_ids: np.ndarray) -> np.ndarray:
    """The middles of images of any sizes, uint8 [N, S, S, C], S at most `SIDE`."""
    parts = []
    for ids in np.array_split(image_ids, -(-len(image_ids) // _AT_ONCE)):
        batch = pixels.batch(ids)
        side = min(SIDE, int(Ragged.of(batch).sizes.min()))
        parts.append(CenterCrop(size=side)(Resize(size=side)(batch)).permute(0, 2, 3, 1).numpy())
    return np.concatenate(parts)
