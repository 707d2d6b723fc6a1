"""Ranking and distance-sensitive losses on Gaussian classes: karaman2021's table 4.1, trained."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import numpy as np
import torch
from torch import Tensor, nn

from dmlbench.evaluation import evaluate
from dmlbench.experiments._gaussian import draw_classes
from dmlbench.experiments._outcome import Outcome, joined, rows
from dmlbench.experiments.gaussian_classes import METRICS
from dmlbench.losses import build_loss
from dmlbench.samplers import build_sampler
from dmlbench.values import Count, Interval, Part, Positive

METHODS = ("initial_features", "ranking", "distance_sensitive")

_OPTIMIZERS = {
    "adam": torch.optim.Adam,
    "rmsprop": torch.optim.RMSprop,
    "sgd": torch.optim.SGD,
}


class DistanceSensitiveToy(Part):
    """An MLP 3 - 32 - out with leaky ReLU, trained with each setting of table 4.1.

    All trainings of a seed have the points of `gaussian_classes` of that seed, the same initial
    weights and the same batches of 4 classes with 8 points, all of whose triplets enter the loss.
    The 12 training classes are scored by Euclidean distance before (`initial_features`) and after
    training, at the last iteration.

    Where the text is silent, the printed rows decide if they can:

    - Embeddings have length 1, as section 3.2.2 says of the networks in general: m = 2.5 and m = 40
      are printed nearly alike, and only where no distance is above 2 does neither ever clamp.
    - Four dimensions: an untrained network keeps 0.92 +- 0.05 of the input space's R@1 and
      0.78 +- 0.08 of its R-precision (12 draws; printed 0.84 and 0.66), but 0.99 and 0.91 with 8.
      With 3 it keeps 0.64 and 0.65, and no training brings R@1 back above 0.9 of the input space's,
      where 0.97 to 1 are printed.
    - 200 iterations of RMSprop at 1e-3: the image networks' rate of 1e-6 would hardly move so small
      a network, and after 600 iterations m = 0.01 has a higher R-precision than is printed.

    Args:
        margins: of the ranking loss.
        m1, m2: of the distance-sensitive loss with s = 1, r = 2, rho = 1, in all combinations.
        embedding_dim: out.
        normalize: whether embeddings are brought to length 1.
        optimizer: `adam`, `rmsprop` or `sgd`.
        learning_rate, iterations: of the optimizer.
        samples: points of each class, at least 8.

    Source: karaman2021, sections 4.1.1, 4.1.2 and 4.2.1, table 4.1.
    """

    margins: Sequence[float] = (0.01, 0.1, 2.5, 40)
    m1: Sequence[float] = (-2.25, -2.5, -2.75)
    m2: Sequence[float] = (5, 10)
    embedding_dim: Count = 4
    normalize: bool = True
    optimizer: Literal["adam", "rmsprop", "sgd"] = "rmsprop"
    learning_rate: Positive = 1e-3
    iterations: Count = 200
    samples: Annotated[int, Interval(ge=8)] = 200

    def run(self, seed: int) -> Outcome:
        drawn, classes = draw_classes(
            seed, classes=32, samples=self.samples, dimension=3, variance=0.02
        )
        points = torch.from_numpy(drawn[classes < 12].astype(np.float32))
        labels = torch.from_numpy(classes[classes < 12])
        spaces = {("initial_features", ""): self._network(seed)}
        for name, variant, options in self._settings():
            network = self._network(seed)
            loss = build_loss(name, num_classes=12, embedding_dim=self.embedding_dim, **options)
            self._train(network, loss, points, labels, seed)
            spaces[name, variant] = network
        parts, arrays = [], {"labels": labels.numpy()}
        for (method, variant), network in spaces.items():
            with torch.no_grad():
                embeddings = self._embed(network, points).numpy()
            evaluation = evaluate(
                embeddings, arrays["labels"], metrics=METRICS, distance="euclidean"
            )
            parts.append(rows(evaluation.scores, method=method, variant=variant))
            arrays[f"{method} {variant}".strip()] = embeddings
        common = {"dataset": "toy", "network": "mlp", "embedding_dim": self.embedding_dim}
        return joined(parts, arrays, **common, role="train")

    def _settings(self) -> Iterator[tuple[str, str, dict]]:
        """Loss, variant and options of each training."""
        for margin in self.margins:
            yield "ranking", f"m={margin:g}", {"margin": margin}
        for low, high in itertools.product(self.m1, self.m2):
            options = {"s": 1, "r": 2, "rho": 1.0, "m1": low, "m2": high}
            yield "distance_sensitive", f"s=1,r=2,rho=1,m_1={low:g},m_2={high:g}", options

    def _network(self, seed: int) -> nn.Sequential:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return nn.Sequential(
                nn.Linear(3, 32), nn.LeakyReLU(), nn.Linear(32, self.embedding_dim)
            )

    def _embed(self, network: nn.Sequential, points: Tensor) -> Tensor:
        embeddings = network(points)
        return nn.functional.normalize(embeddings) if self.normalize else embeddings

    def _train(
        self, network: nn.Sequential, loss: nn.Module, points: Tensor, labels: Tensor, seed: int
    ) -> None:
        options = {"batch_size": 32, "images_per_class": 8}
        sampler = build_sampler("class_balanced", labels, seed=seed, **options)
        batches = (batch for epoch in range(self.iterations) for batch in sampler.epoch(epoch))
        optimizer = _OPTIMIZERS[self.optimizer](network.parameters(), lr=self.learning_rate)
        for _, batch in zip(range(self.iterations), batches, strict=False):
            optimizer.zero_grad()
            loss(self._embed(network, points[batch]), labels[batch]).backward()
            optimizer.step()
