"""Image headers and pixels, upright."""

from typing import IO

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


def decode(file: IO[bytes]) -> Image.Image:
    """An image, whole and upright."""
    with Image.open(file) as image:
        orientation = _orientation(image)
        image.load()
        return image.transpose(_UPRIGHT[orientation]) if orientation in _UPRIGHT else image.copy()


def _orientation(image: Image.Image) -> int:
    # Asking a PNG for EXIF data that its header lacks would decode it.
    if image.format == "PNG" and "exif" not in image.info:
        return 1
    return image.getexif().get(_ORIENTATION, 1)
