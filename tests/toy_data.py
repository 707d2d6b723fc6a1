"""The files of a packed data set, for tests."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ToyData:
    """A data set packed and split, as keyword arguments."""

    index: Path
    split: Path
    pixels: Path
    pixel_table: Path

    def as_arguments(self) -> dict[str, Path]:
        """The arguments of training and embedding."""
        return vars(self)
