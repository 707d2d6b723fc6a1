"""Image headers and pixels, upright."""

from typing import IO, NamedTuple

import numpy as np
from PIL import Image

MODES = {"gray": "L", "rgb": "RGB"}
"""Pillow's modes of packed images."""

Box = tuple[int, int, int, int]
"""Left, top, right and bottom, in pixels of the upright image."""

Size = int | tuple[int, int]
"""The shorter side, or width and height."""

_ORIENTATION = 0x0112
_DEPTHS = {"1": 1, "I": 32, "F": 32}
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


class Storage(NamedTuple):
    """How an image is stored.

    Attributes:
        turned: whether in another orientation than upright.
        depth: bits of a value: 1, 8, 16 or 32.
    """

    turned: bool
    depth: int


def size(file: IO[bytes]) -> tuple[int, int]:
    """Width and height of an image as it is seen upright, from its header alone."""
    with _opened(file) as image:
        width, height = image.size
        swapped = _orientation(image) >= 5 and not _turns_itself(image)
        return (height, width) if swapped else (width, height)


def storage(file: IO[bytes]) -> Storage:
    """How an image is stored, from its header alone."""
    with _opened(file) as image:
        depth = 16 if image.mode.startswith("I;16") else _DEPTHS.get(image.mode, 8)
        return Storage(_orientation(image) in _UPRIGHT, depth)


def peak(file: IO[bytes]) -> int:
    """The largest value of an image."""
    with _opened(file) as image:
        return int(np.asarray(image).max())


def decode(file: IO[bytes], mode: str) -> tuple[Image.Image, str | None]:
    """A complete, upright image in an 8-bit Pillow mode, and how it was converted.

    Returns:
        The image; its own mode ("CMYK", "P", ...), "turned" for a rotation by its EXIF data, or
        both, separated by a comma, or None if nothing was converted.
    """
    with _opened(file) as image:
        orientation, turns_itself = _orientation(image), _turns_itself(image)
        image.load()
        done = [image.mode] if image.mode != mode else []
        if image.mode.startswith("I;16"):
            upright = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8)).convert(mode)
        elif image.mode in ("I", "F"):
            raise ValueError(f"pixels of Pillow's mode {image.mode} have no fixed range")
        else:
            upright = image.convert(mode)
    if orientation in _UPRIGHT:
        upright = upright if turns_itself else upright.transpose(_UPRIGHT[orientation])
        done.append("turned")
    return upright, ", ".join(done) or None


def packed(
    file: IO[bytes],
    size: int | None,
    mode: str,
    box: Box | None = None,
    reduced_to: Size | None = None,
) -> tuple[np.ndarray, str | None]:
    """An image as it is packed.

    Args:
        size: pixels of the shorter side after an antialiased bilinear resize, the longer one
            rounded down, as torchvision's Resize does; None keeps the size.
        mode: of `MODES`.
        box: cut out before it is resized; None for all of the image.
        reduced_to: what it is resized to before that, in the same way; None for nothing.

    Returns:
        uint8 [H, W, C], and how it was converted, as `decode` says it.
    """
    image, converted = decode(file, MODES[mode])
    if box is not None:
        image = image.crop(box)
    for target in (reduced_to, size):
        if isinstance(target, int):
            shorter = min(image.size)
            target = [target * side // shorter for side in image.size]
        if target is not None:
            image = image.resize(target, Image.Resampling.BILINEAR)
    pixels = np.ascontiguousarray(image).reshape(image.height, image.width, -1)
    return pixels, converted


def _opened(file: IO[bytes]) -> Image.Image:
    try:
        return Image.open(file)
    except Image.DecompressionBombError as error:
        raise ValueError(f"is too large: {error}") from None


def _turns_itself(image: Image.Image) -> bool:
    """Whether Pillow turns an image upright while it loads it, and gives its size upright."""
    return image.format == "TIFF"


def _orientation(image: Image.Image) -> int:
    # Asking a PNG for EXIF data that its header lacks would decode it.
    if image.format == "PNG" and "exif" not in image.info:
        return 1
    return image.getexif().get(_ORIENTATION, 1)
