"""Image headers and pixels, upright."""

from typing import IO

import numpy as np
from PIL import Image

_ORIENTATION = 0x0112
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def size(file: IO[bytes]) -> tuple[int, int]:
    """Width and height of an image as it is seen upright, from its header alone."""
    with Image.open(file) as image:
        width, height = image.size
        return (height, width) if _orientation(image) >= 5 else (width, height)


def decode(file: IO[bytes], mode: str) -> tuple[Image.Image, str | None]:
    """A complete, upright image in an 8-bit Pillow mode, and how it was converted.

    Returns:
        The image; its own mode ("CMYK", "P", ...), "turned" for a rotation by its EXIF data, or
        both, separated by a comma, or None if nothing was converted.
    """
    with Image.open(file) as image:
        orientation = _orientation(image)
        image.load()
        done = [image.mode] if image.mode != mode else []
        if image.mode.startswith("I;16"):
            upright = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8)).convert(mode)
        elif image.mode in ("I", "F"):
            raise ValueError(f"pixels of Pillow's mode {image.mode} have no fixed range")
        else:
            upright = image.convert(mode)
    if orientation in _UPRIGHT:
        upright = upright.transpose(_UPRIGHT[orientation])
        done.append("turned")
    return upright, ", ".join(done) or None


def _orientation(image: Image.Image) -> int:
    # Asking a PNG for EXIF data that its header lacks would decode it.
    if image.format == "PNG" and "exif" not in image.info:
        return 1
    return image.getexif().get(_ORIENTATION, 1)
