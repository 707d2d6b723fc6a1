"""Glyphs: printed characters as classes, drawn on demand, so that nothing is downloaded."""

import io
import math
import zipfile
from pathlib import Path
from typing import Annotated

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from dmlbench.data.generators._characters import class_name, fonts
from dmlbench.errors import UserError
from dmlbench.files import atomic_write
from dmlbench.values import Interval, Part, Seed

_OVERSAMPLING = 3
_EPOCH = (1980, 1, 1, 0, 0, 0)


class Glyphs(Part):
    """Draws characters of several scripts with the fonts that matplotlib ships.

    Each image has its own font, weight, slant, scale, rotation, shift, stroke, blur and noise.
    The classes are shuffled by the seed, so that every run of classes mixes the scripts. Equal
    arguments give equal bytes for the same versions of Pillow and NumPy.

    Args:
        characters: number of classes.
        images_per_character: images of a class.
        size: width and height in pixels.
        seed: seed of the order of the classes and of every image.

    Raises:
        UserError: more characters than there are.
    """

    characters: Annotated[int, Interval(ge=2)] = 200
    images_per_character: Annotated[int, Interval(ge=1, le=999)] = 20
    size: Annotated[int, Interval(ge=16, le=256)] = 28
    seed: Seed = 0

    def __post_init__(self):
        if self.characters > len(fonts()):
            raise UserError(
                f"glyphs: characters is {self.characters}; allowed: 2 to {len(fonts())}"
            )

    def draw(self, output: Path) -> None:
        """Write one zip of grayscale PNGs, `<number>_<class name>/<number>.png`.

        The number before a class's name keeps the shuffled order when folders are sorted by name.
        """
        ordered = np.random.default_rng(self.seed).permutation(sorted(fonts()))
        with atomic_write(output) as unfinished, zipfile.ZipFile(unfinished, "w") as archive:
            for number, character in enumerate(ordered[: self.characters].tolist()):
                folder = f"{number:03d}_{class_name(character)}"
                for image_number in range(self.images_per_character):
                    # One generator per image: an image does not depend on how many there are.
                    rng = np.random.default_rng([self.seed, ord(character), image_number])
                    member = zipfile.ZipInfo(f"{folder}/{image_number:02d}.png", _EPOCH)
                    member.create_system = 3
                    member.external_attr = 0o644 << 16
                    archive.writestr(member, _png(draw_character(character, self.size, rng)))


def draw_character(character: str, size: int, rng: np.random.Generator) -> Image.Image:
    """One distorted grayscale picture [size, size] of a character, dark on light."""
    large = size * _OVERSAMPLING
    glyph = _glyph(character, large, rng)
    glyph = _place(glyph, large, rng).resize((size, size), Image.Resampling.BOX)
    glyph = glyph.filter(ImageFilter.GaussianBlur(rng.uniform(0.0, 0.02) * size))
    ink = np.asarray(glyph, dtype=np.float64) / 255 * rng.uniform(0.5, 1.0)
    paper = rng.uniform(0.8, 1.0)
    picture = paper * (1 - ink) + rng.normal(0.0, rng.uniform(0.02, 0.09), ink.shape)
    return Image.fromarray((picture.clip(0, 1) * 255).round().astype(np.uint8))


def _glyph(character: str, large: int, rng: np.random.Generator) -> Image.Image:
    """The character alone, white on black, cropped to its ink."""
    files = fonts()[character]
    font = ImageFont.truetype(
        files[rng.integers(len(files))],
        round(0.95 * large),
        layout_engine=ImageFont.Layout.BASIC,
    )
    stroke = int(rng.integers(0, 1 + round(0.025 * large)))
    left, top, right, bottom = font.getbbox(character, stroke_width=stroke)
    glyph = Image.new("L", (math.ceil(right - left) + 2, math.ceil(bottom - top) + 2))
    ImageDraw.Draw(glyph).text(
        (1 - left, 1 - top), character, fill=255, font=font, stroke_width=stroke
    )
    return glyph


def _place(glyph: Image.Image, large: int, rng: np.random.Generator) -> Image.Image:
    """The glyph in the middle of a square, then scaled, rotated, slanted and shifted."""
    angle = math.radians(rng.uniform(-15, 15))
    slant = rng.uniform(-0.25, 0.25)
    # No side of the glyph may be larger than the picture.
    scale = min(1.0, 0.9 * large / max(glyph.size)) * rng.uniform(0.65, 1.05)
    stretch = math.exp(rng.uniform(-0.15, 0.15))
    shift = rng.uniform(-0.08, 0.08, size=2) * large

    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    forward = turn @ np.array([[1.0, slant], [0.0, 1.0]]) @ np.diag([stretch, 1 / stretch]) * scale
    # Image.transform takes the inverse map: where each pixel of the result comes from.
    back = np.linalg.inv(forward)
    offset = np.array(glyph.size) / 2 - back @ (large / 2 + shift)
    (a, b), (d, e) = back.tolist()
    matrix = (a, b, float(offset[0]), d, e, float(offset[1]))
    return glyph.transform(
        (large, large), Image.Transform.AFFINE, matrix, Image.Resampling.BILINEAR
    )


def _png(picture: Image.Image) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", compress_level=6)
    return buffer.getvalue()
