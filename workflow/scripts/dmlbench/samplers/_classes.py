"""Images by class, and draws from them, vectorized over classes."""

import numpy as np


class ImagesByClass:
    """The images of each class, classes in ascending order of their label.

    Attributes:
        classes: int64 [C], the labels that occur.
        sizes: int64 [C], images of each class.
        starts: int64 [C], where a class begins in `images`.
        images: int64 [N], image indices, class after class.
        class_of: int64 [N], position in `classes` of each image's label.
    """

    def __init__(self, labels: np.ndarray):
        self.classes, self.class_of, self.sizes = np.unique(
            labels, return_inverse=True, return_counts=True
        )
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.images = np.argsort(self.class_of, kind="stable")

    def shuffled(self, rng: np.random.Generator) -> np.ndarray:
        """`images` with each class's images in a random order: int64 [N]."""
        return np.lexsort((rng.random(len(self.class_of)), self.class_of))

    def draw(
        self,
        rng: np.random.Generator,
        classes: np.ndarray,
        count: int,
        first: np.ndarray | None = None,
    ) -> np.ndarray:
        """Images drawn at random from each class, without replacement: int64 [classes, count].

        A class with fewer than `count` images gives all of them, repeated as evenly as possible.

        Args:
            first: an image of each class to draw first; by default all draws are random.
        """
        sizes = self.sizes[classes, None]
        columns = np.arange(sizes.max())
        inside = columns < sizes
        members = self.images[np.where(inside, self.starts[classes, None] + columns, 0)]
        keys = np.where(inside, rng.random(members.shape), np.inf)
        if first is not None:
            keys[inside & (members == first[:, None])] = -1
        order = np.argsort(keys, axis=1)
        drawn = np.take_along_axis(order, np.arange(count) % sizes, axis=1)
        return np.take_along_axis(members, drawn, axis=1)

    def draw_with_replacement(
        self, rng: np.random.Generator, classes: np.ndarray, count: int
    ) -> np.ndarray:
        """Images drawn at random from each class, with replacement: int64 [classes, count]."""
        columns = rng.integers(self.sizes[classes, None], size=(len(classes), count))
        return self.images[self.starts[classes, None] + columns]
