"""Metrics of embeddings that are independent of the classes."""

import math
from collections.abc import Sequence
from typing import Annotated

import numpy as np

from dmlbench.errors import UserError
from dmlbench.evaluation import evaluate
from dmlbench.experiments._outcome import Outcome, joined, rows
from dmlbench.values import Count, Interval, Part

METHODS = ("random", "closed_form")
METRICS = ("recall_at_1", "r_precision", "map_at_r", "nmi", "ami", "f1")


class RandomEmbeddings(Part):
    """Metrics of random embeddings with random labels, as the number of classes grows.

    Embeddings are standard normal and compared by cosine. Classes are of one size, as in the
    derivation of the closed form, or of two sizes that differ by one; "randomly assigned" could
    also mean independent labels, some of which would have no second image. Rows of method
    `closed_form` have the NMI of equation 7 wherever it holds.

    Args:
        points: embeddings.
        embedding_dim: their size.
        classes: numbers of classes, each from 2 to points / 2; the axis of variants `classes=<n>`.

    Source: musgrave2020, figure 2 and equations 3 to 7. The numbers of classes are ours: the
    figure has no printed values.
    """

    points: Annotated[int, Interval(ge=4)] = 10_000
    embedding_dim: Count = 64
    classes: Sequence[Annotated[int, Interval(ge=2)]] = (
        10,
        20,
        50,
        100,
        200,
        500,
        1000,
        2000,
        5000,
    )

    def __post_init__(self):
        half = self.points // 2
        for number in self.classes:
            if number > half:
                raise UserError(f"classes={number}; allowed: 2 to {half}, half the points")

    def run(self, seed: int) -> Outcome:
        rng = np.random.default_rng(seed)
        embeddings = rng.normal(size=(self.points, self.embedding_dim)).astype(np.float32)
        order = rng.permutation(self.points)
        parts = []
        for number in self.classes:
            labels = np.empty(self.points, np.int64)
            labels[order] = np.arange(self.points) % number
            evaluation = evaluate(embeddings, labels, metrics=METRICS, seeds=(seed,))
            variant = f"classes={number}"
            parts.append(rows(evaluation.scores, method="random", variant=variant))
            per_class = self.points / number
            if per_class <= number:
                closed = {"nmi": shuffled_nmi(number, per_class)}
                parts.append(rows(closed, method="closed_form", variant=variant))
        common = {"dataset": f"random{self.points}", "embedding_dim": self.embedding_dim}
        return joined(parts, {}, **common)


def shuffled_nmi(classes: int, per_class: float) -> float:
    """NMI of clusters that each hold `per_class` images, all of other classes.

        1 - log(S) / log(C), for S <= C

    Source: musgrave2020, equation 7; 84.9% for 10,000 classes of 4.

    >>> round(shuffled_nmi(10_000, 4), 3)
    0.849
    """
    return 1 - math.log(per_class) / math.log(classes)
