"""Alternating projections on a problem that is known to have a solution."""

from collections.abc import Callable, Iterator
from typing import Annotated, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dmlbench.errors import UserError
from dmlbench.experiments._outcome import Outcome, joined, rows
from dmlbench.losses import build_loss
from dmlbench.losses._geometry import euclidean_distances
from dmlbench.miners._representatives import anchored
from dmlbench.regularizers import build_regularizer
from dmlbench.samplers import Batch, build_sampler
from dmlbench.tuples import Pairs, all_pairs
from dmlbench.values import Count, CountOrZero, Interval, NotNegative, Part, Positive

METHODS = ("plain", "anchored", "profs")
METRICS = ("violated_constraints",)

NEAR, FAR = 0.4, 0.6
"""epsilon+ and epsilon-: the largest distance of a positive and the smallest of a negative pair."""


class Problem(NamedTuple):
    """Points that a linear map can embed without violating a constraint.

    Attributes:
        points: float32 [N, 2 + nuisance].
        labels: int64 [N].
        solution: float32 [2 + nuisance, 2], a map that is feasible.
    """

    points: Tensor
    labels: Tensor
    solution: Tensor


class ProjectionToy(Part):
    """Violated constraints by projection: PROFS against plain training with as many steps.

    A linear map from 2 + nuisance dimensions to 2 is to bring positive pairs within 0.4 and
    negative pairs beyond 0.6 of each other. Points are rotations of (place, noise), where the
    places of a class are within 0.2 of its point of the unit grid: the map that returns the place
    is feasible. All methods minimize the margin loss with these two thresholds, zero if and only if
    no constraint of the batch is violated, by Adam from the same weights:

    - `plain`: all pairs of class-balanced batches;
    - `anchored`: pairs of one image per class with the others of the batch, another for each batch;
    - `profs`: the same with representatives kept for M steps, and the proximity term to the weights
      at the last redraw (Algorithm 1).

    Rows have the share of all N (N - 1) / 2 constraints that is violated after each M steps,
    as variant `projection=<k>` (0 is the start).

    Args:
        classes, samples, nuisance: of the points.
        batch_size: a multiple of `images_per_class`.
        images_per_class: I of the batches.
        projections: how often M = ceil(rho I L / B) steps are made.
        rho: uses of a representative.
        proximity: lambda of `profs`.
        learning_rate: of Adam.

    Source: can2019, equations 4.1, 4.2 and 4.6, proposition 4.1, Algorithm 1. The experiment is
    ours; the paper has none of this kind.
    """

    classes: Annotated[int, Interval(ge=2)] = 20
    samples: Annotated[int, Interval(ge=2)] = 12
    nuisance: CountOrZero = 14
    batch_size: int = 16
    images_per_class: Annotated[int, Interval(ge=2)] = 2
    projections: Count = 30
    rho: Positive = 6.0
    proximity: NotNegative = 1e-3
    learning_rate: Positive = 0.01

    def __post_init__(self):
        most = self.images_per_class * self.classes
        if self.batch_size % self.images_per_class or self.batch_size > most:
            raise UserError(
                f"batch_size={self.batch_size}; allowed: a multiple of images_per_class="
                f"{self.images_per_class}, at most {most}"
            )

    def run(self, seed: int) -> Outcome:
        problem = self.problem(seed)
        generator = torch.Generator().manual_seed(seed)
        start = torch.randn(problem.solution.shape, generator=generator) / len(problem.solution)
        parts, arrays = [], {}
        for way in ("plain", "anchored", "profs"):
            violated = np.array(list(self._train(way, problem, start, seed)))
            arrays[f"violated_{way}"] = violated
            share = violated.sum(1) / (len(problem.labels) * (len(problem.labels) - 1) / 2)
            parts += [
                rows({"violated_constraints": value}, method=way, variant=f"projection={k}")
                for k, value in enumerate(share)
            ]
        return joined(parts, arrays, dataset="feasible_toy", embedding_dim=2, role="train")

    def problem(self, seed: int) -> Problem:
        """The points of a seed, and a solution."""
        rng = np.random.default_rng(seed)
        side = int(np.ceil(np.sqrt(self.classes)))
        centers = np.stack(np.divmod(np.arange(self.classes), side), axis=1)
        labels = np.repeat(np.arange(self.classes), self.samples)
        angle, radius = rng.random((2, len(labels)))
        circle = np.stack([np.cos(2 * np.pi * angle), np.sin(2 * np.pi * angle)], axis=1)
        places = centers[labels] + 0.19 * np.sqrt(radius)[:, None] * circle
        noise = rng.normal(size=(len(labels), self.nuisance))
        rotation, _ = np.linalg.qr(rng.normal(size=2 * (2 + self.nuisance,)))
        points = np.concatenate([places, noise], axis=1) @ rotation
        return Problem(
            torch.from_numpy(points.astype(np.float32)),
            torch.from_numpy(labels),
            torch.from_numpy(rotation[:2].T.astype(np.float32)),
        )

    def _train(
        self, way: str, problem: Problem, start: Tensor, seed: int
    ) -> Iterator[tuple[int, int]]:
        """Violated constraints of positive and of negative pairs before and after each M steps."""
        of = {"batch_size": self.batch_size, "images_per_class": self.images_per_class}
        profs = build_sampler("profs", problem.labels, seed=seed, rho=self.rho, **of)
        balanced = build_sampler("class_balanced", problem.labels, seed=seed, **of)
        sampler = profs if way == "profs" else balanced
        first = torch.zeros(self.batch_size, dtype=torch.bool)
        first[profs.representative_positions] = True
        choose: Callable[[Pairs], Pairs] = (
            (lambda pairs: pairs) if way == "plain" else (lambda pairs: anchored(pairs, first))
        )
        loss = build_loss(
            "margin",
            num_classes=self.classes,
            embedding_dim=2,
            margin=(FAR - NEAR) / 2,
            beta=(FAR + NEAR) / 2,
            learned=False,
        )
        proximity = build_regularizer("proximity", weight=self.proximity)
        weights = start.clone().requires_grad_()
        optimizer = torch.optim.Adam([weights], lr=self.learning_rate)
        batches = (
            batch.rows if isinstance(batch, Batch) else batch
            for epoch in range(2**31)
            for batch in sampler.epoch(epoch)
        )
        yield violated_constraints(problem.points @ weights.detach(), problem.labels)
        for _ in range(self.projections):
            proximity.snapshot([weights])
            for _ in range(profs.iterations_per_projection):
                batch = next(batches)
                labels = problem.labels[batch]
                value = loss(problem.points[batch] @ weights, labels, choose(all_pairs(labels)))
                if way == "profs":
                    value = value + proximity([weights])
                optimizer.zero_grad()
                value.backward()
                optimizer.step()
            yield violated_constraints(problem.points @ weights.detach(), problem.labels)


def violated_constraints(embeddings: Tensor, labels: Tensor) -> tuple[int, int]:
    """How many positive pairs are farther than epsilon+, and negative ones nearer than epsilon-.

    Args:
        embeddings: float [N, D].
        labels: int64 [N].

    Source: can2019, equation 4.1.
    """
    d = euclidean_distances(embeddings)
    positive, negative = all_pairs(labels)
    ordered = (positive & (d > NEAR)).sum(), (negative & (d < FAR)).sum()
    return int(ordered[0]) // 2, int(ordered[1]) // 2
