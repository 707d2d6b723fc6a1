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

    def with_features(self, features: Path) -> "ToyFeatures":
        """The same data set for a frozen network."""
        return ToyFeatures(self.index, self.split, features)


@dataclass(frozen=True)
class ToyFeatures:
    """A data set's features and split, as keyword arguments."""

    index: Path
    split: Path
    features: Path

    def as_arguments(self) -> dict[str, Path]:
        """The arguments of training and embedding."""
        return vars(self)
