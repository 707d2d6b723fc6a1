"""What every batch sampler is given, and the images of each class."""

from collections.abc import Sequence
from dataclasses import field

from dmlbench.samplers._checks import checked_labels
from dmlbench.samplers._classes import ImagesByClass
from dmlbench.values import Part


class OfLabels(Part):
    """A sampler that has its options as fields, next to what the training gives it.

    Attributes:
        labels: class of each training image, [N] integers.
        batch_size: images in a batch.
        seed: of the draws.
        by_class, images: the images of each class, and how many there are.
    """

    labels: Sequence[int] = field(kw_only=False)
    batch_size: int = field(kw_only=False)
    seed: int = field(kw_only=False)

    def __post_init__(self):
        self.by_class = ImagesByClass(checked_labels(self.labels, self.batch_size, self.seed))
        self.images = len(self.by_class.images)
