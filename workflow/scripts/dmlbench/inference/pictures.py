"""Pictures of a user as a run's packed images: decoded, upright, resized."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from dmlbench.data import _images
from dmlbench.data.archives import DAMAGED
from dmlbench.data.ragged import Ragged
from dmlbench.errors import UserError
from dmlbench.image_folder import is_image, walk

Picture = str | Path | Image.Image | np.ndarray
"""A path, an image of Pillow, or uint8 [H, W] or [H, W, 3] with colors as RGB."""


def in_folder(folder: Path) -> tuple[list[Path], int]:
    """The images in a folder and below it, and how many other files are there.

    Raises:
        UserError: no folder, or no image in it.
    """
    contents = walk(folder)
    images = [folder / name for name in contents.files if is_image(name)]
    if not images:
        raise UserError(f"{folder}: has no image ({len(contents.files)} other files)")
    return images, len(contents.files) - len(images) + len(contents.left_out)


class Pictures:
    """Pictures as a store of images (`dmlbench.data.pixels.Pixels`), read when they are requested.

    Attributes:
        features: None, as these are images.
        bytes: more than any GPU holds, as their number is not known before they are read.

    Args:
        pictures: to read; batches name them by their place.
        size: pixels of the shorter side, as in a network's entry.
        mode: gray or rgb.
    """

    features = None
    bytes = 2**63

    def __init__(self, pictures: Sequence[Picture], size: int, mode: str):
        self._pictures, self._size, self._mode = pictures, size, mode

    def batch(self, places: np.ndarray) -> Tensor | Ragged:
        """As `Pixels.batch`; raises a UserError that names a picture that is not an image."""
        images = [self._read(self._pictures[place]) for place in places]
        sizes = np.array([image.shape[:2] for image in images], dtype=np.int64)
        lengths = np.array([image.size for image in images])
        flat = torch.from_numpy(np.concatenate([image.reshape(-1) for image in images]))
        channels = images[0].shape[-1]
        batch = Ragged.packed(flat, np.cumsum(lengths) - lengths, sizes, channels)
        return batch.padded() if (sizes == sizes[0]).all() else batch

    def _read(self, picture: Picture) -> np.ndarray:
        if isinstance(picture, str | Path):
            return self._packed(picture, picture)
        if isinstance(picture, np.ndarray):
            picture = _from_array(picture)
        elif not isinstance(picture, Image.Image):
            raise UserError(
                f"a picture of type {type(picture).__name__}; allowed: a path, an image of Pillow, "
                "an array"
            )
        return self._packed(picture, f"a picture of mode {picture.mode}")

    def _packed(self, source: str | Path | Image.Image, name: str | Path) -> np.ndarray:
        try:
            return _images.packed(_file(source), self._size, self._mode)[0]
        except (FileNotFoundError, IsADirectoryError):
            raise UserError(f"{name}: no such file") from None
        except DAMAGED as error:
            reason = " ".join(str(error).split())[:100]
            raise UserError(f"{name}: not an image that can be read ({reason})") from None


def _file(source: str | Path | Image.Image) -> io.BytesIO:
    if not isinstance(source, Image.Image):
        return io.BytesIO(Path(source).read_bytes())
    file = io.BytesIO()
    # Without loss, and read as any other file, so that modes are converted alike.
    ImageOps.exif_transpose(source).save(file, "TIFF")
    return file


def _from_array(values: np.ndarray) -> Image.Image:
    if values.dtype != np.uint8 or values.shape[2:] not in ((), (3,)) or values.ndim < 2:
        raise UserError(
            f"an array of {values.dtype} {list(values.shape)}; allowed: uint8 [H, W] or [H, W, 3]"
        )
    return Image.fromarray(values)
