"""Antialiased bilinear resizing of images of any sizes, equal to torchvision's and Pillow's.

On a CPU torch's kernel for single uint8 images is the fastest, one image per thread; on a GPU a
batch is two products with weight matrices. Both return bytes for bytes; they differ from each other
and from Pillow by at most 1 of 255.
"""

import numpy as np
import torch
from torch import Tensor

from dmlbench.data._threads import on_threads
from dmlbench.data.ragged import Ragged

_VALUES_AT_ONCE = 2**25
"""The most values of a padded batch on a GPU; a step needs about twenty times as many bytes."""


def resized(images: Ragged, sizes: np.ndarray) -> Ragged:
    """Images resized to heights and widths int64 [B, 2]; type and device stay."""
    on_cpu = images.device.type == "cpu"
    return resized_one_by_one(images, sizes) if on_cpu else resized_by_products(images, sizes)


def resized_one_by_one(images: Ragged, sizes: np.ndarray) -> Ragged:
    """Each image by torch's own kernel, with as many threads as torch may use."""
    out = Ragged.empty(sizes, like=images)

    def work(part: slice) -> None:
        for image, target in zip(images.rows(part), out.rows(part), strict=True):
            torch.ops.aten._upsample_bilinear2d_aa.out(
                image[None], target.shape[1:], align_corners=False, out=target[None]
            )

    on_threads(work, len(images))
    return out


def resized_by_products(images: Ragged, sizes: np.ndarray) -> Ragged:
    """All images by two batched products: rows, then columns."""
    padded = int(images.sizes.max(axis=0).prod()) * images.channels
    step = max(1, _VALUES_AT_ONCE // padded)
    some = [slice(begin, begin + step) for begin in range(0, len(images), step)]
    return _joined([_by_products(images.rows(rows), sizes[rows]) for rows in some])


def _joined(parts: list[Ragged]) -> Ragged:
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(len(part.flat) for part in parts[:-1])])
    return Ragged(
        torch.cat([part.flat for part in parts]),
        np.concatenate([part.offsets + start for part, start in zip(parts, starts, strict=True)]),
        np.concatenate([part.sizes for part in parts]),
        np.concatenate([part.strides for part in parts]),
        parts[0].channels,
    )


def _by_products(images: Ragged, sizes: np.ndarray) -> Ragged:
    pixels = images.gathered()
    rows = _weights(images.sizes[:, 0], sizes[:, 0], pixels.device)
    columns = _weights(images.sizes[:, 1], sizes[:, 1], pixels.device)
    out = rows[:, None] @ pixels.float() @ columns[:, None].mT
    if pixels.dtype == torch.uint8:
        out = out.round_().clamp_(0, 255).to(torch.uint8)
    whole = Ragged.of(out)
    return Ragged(whole.flat, whole.offsets, sizes, whole.strides, images.channels)


def _weights(lengths: np.ndarray, targets: np.ndarray, device: torch.device) -> Tensor:
    """float32 [B, largest target, largest length]: how a resized row is a mean of those before.

    A triangle about each new pixel's center, as wide as two pixels of the coarser of both grids.
    """
    numbers = torch.from_numpy(np.stack([lengths, targets])).to(device, non_blocking=True)
    length, target = numbers[:, :, None, None]
    scale = length / target
    new = torch.arange(int(targets.max()), device=device)[:, None]
    old = torch.arange(int(lengths.max()), device=device)
    distance = (old + 0.5 - (new + 0.5) * scale).abs() / scale.clamp(min=1)
    weights = (1 - distance).clamp(min=0) * (old < length)
    # Rows beyond the target are not used, but must not be 0 / 0.
    return weights / weights.sum(dim=2, keepdim=True).clamp(min=1e-6)
