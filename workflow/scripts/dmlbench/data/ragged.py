"""Batches of images of several sizes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from dmlbench.data._threads import on_threads


@dataclass(frozen=True)
class Ragged:
    """A batch of images of several sizes: windows of one flat tensor, channels last.

    Attributes:
        flat: the values, on any device; some may belong to no image of the batch.
        offsets: int64 [B], index of each image's first value.
        sizes: int64 [B, 2], height and width.
        strides: int64 [B], values from one row of an image to the next.
        channels: number of channels of every image.

    Offsets, sizes and strides are on the CPU, whatever the device of the values.
    """

    flat: Tensor
    offsets: np.ndarray
    sizes: np.ndarray
    strides: np.ndarray
    channels: int

    @classmethod
    def packed(cls, flat: Tensor, offsets: np.ndarray, sizes: np.ndarray, channels: int):
        """Images whose rows follow one another without gaps."""
        return cls(flat, offsets, sizes, sizes[:, 1] * channels, channels)

    @classmethod
    def of(cls, images: "Tensor | Ragged") -> "Ragged":
        """A batch of either kind as a ragged one; without a copy if memory is channels last."""
        if isinstance(images, Ragged):
            return images
        count, channels, height, width = images.shape
        flat = images.permute(0, 2, 3, 1).reshape(-1)
        offsets = np.arange(count) * (height * width * channels)
        sizes = np.tile(np.array([height, width]), (count, 1))
        return cls.packed(flat, offsets, sizes, channels)

    @classmethod
    def empty(cls, sizes: np.ndarray, like: "Ragged") -> "Ragged":
        """Uninitialized images of these sizes, with another batch's channels, type and device."""
        ends = (sizes.prod(axis=1) * like.channels).cumsum()
        offsets = np.concatenate([[0], ends[:-1]])
        return cls.packed(like.flat.new_empty(int(ends[-1])), offsets, sizes, like.channels)

    def __len__(self) -> int:
        return len(self.offsets)

    def __iter__(self) -> Iterator[Tensor]:
        """The images, [C, H, W] each, as views."""
        for offset, (height, width), stride in zip(
            self.offsets.tolist(), self.sizes.tolist(), self.strides.tolist(), strict=True
        ):
            yield self.flat.as_strided(
                (self.channels, height, width), (1, stride, self.channels), offset
            )

    @property
    def device(self) -> torch.device:
        return self.flat.device

    def to(self, device: torch.device, non_blocking: bool = False) -> "Ragged":
        """The same batch on a device."""
        return replace(self, flat=self.flat.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> "Ragged":
        """The same batch in memory from which a GPU copies while others compute."""
        return replace(self, flat=self.flat.pin_memory())

    def windows(self, boxes: np.ndarray) -> "Ragged":
        """A window of each image, without a copy; boxes int64 [B, 4]: top, left, height, width."""
        offsets = self.offsets + boxes[:, 0] * self.strides + boxes[:, 1] * self.channels
        return replace(self, offsets=offsets, sizes=boxes[:, 2:])

    def rows(self, rows: slice) -> "Ragged":
        """Some of the images."""
        return replace(
            self, offsets=self.offsets[rows], sizes=self.sizes[rows], strides=self.strides[rows]
        )

    def padded(self) -> Tensor:
        """All images in the upper left of [B, C, H, W], H and W the largest; the rest is arbitrary.

        Without a copy if they are of one size and contiguous.
        """
        height, width = self.sizes.max(axis=0).tolist()
        step = height * width * self.channels
        alike = (self.sizes == [height, width]).all() and (
            self.strides == width * self.channels
        ).all()
        if alike and np.array_equal(self.offsets, self.offsets[0] + np.arange(len(self)) * step):
            flat = self.flat[self.offsets[0] : self.offsets[0] + len(self) * step]
            return flat.view(-1, height, width, self.channels).permute(0, 3, 1, 2)
        if self.device.type != "cpu":
            return self.gathered()
        out = self.flat.new_empty(len(self), height, width, self.channels).permute(0, 3, 1, 2)

        def work(part: slice) -> None:
            for image, target in zip(self.rows(part), out[part], strict=True):
                target[:, : image.shape[1], : image.shape[2]].copy_(image)

        on_threads(work, len(self))
        return out

    def gathered(self) -> Tensor:
        """The same as `padded`, in one step for the whole batch, which is fast on a GPU."""
        (height, width), channels = self.sizes.max(axis=0).tolist(), self.channels
        numbers = torch.from_numpy(np.stack([self.offsets, self.strides]))
        offsets, strides = numbers.to(self.device, non_blocking=True)[:, :, None, None]
        y = torch.arange(height, device=self.device)[:, None]
        x = torch.arange(width * channels, device=self.device)
        places = (offsets + strides * y + x).clamp_(max=len(self.flat) - 1)
        return self.flat[places].unflatten(2, (width, channels)).permute(0, 3, 1, 2)
