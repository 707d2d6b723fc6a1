"""Rho-regularization in the plane: lines that training need not separate, but the test must."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import torch
from torch import nn

from dmlbench.evaluation import evaluate
from dmlbench.experiments._outcome import Outcome, joined, rows
from dmlbench.losses import build_loss
from dmlbench.losses._geometry import unit
from dmlbench.miners import build_miner
from dmlbench.plan.catalogs.naming import defaults
from dmlbench.regularizers import build_regularizer
from dmlbench.samplers import build_sampler
from dmlbench.values import Count, Interval, PairMiner, Part, Positive, Share

METHODS = ("contrastive",)
METRICS = ("recall_at_1", "nmi", "pi_intra", "pi_inter", "pi_ratio", "second_singular_value")
VERSION = 2
STRUCTURE = ("pi_intra", "pi_inter", "pi_ratio")

_OPTIMIZERS = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}
_QUARTERS = (0, 0.25, 0.5, 0.75)
_SEGMENTS = {
    "diagonal": {
        "train": [((x, 0), (x + 0.5, 1)) for x in _QUARTERS],
        "test": [
            ((0.3, 0), (0.3, 0.4)),
            ((0.8, 0.6), (0.8, 1)),
            ((0, 0.8), (0.4, 0.8)),
            ((0.7, 0.2), (1.1, 0.2)),
        ],
    },
    "vertical": {
        "train": [((x, 0), (x, 1)) for x in (0, 1 / 3, 2 / 3, 1)],
        "test": [((0.5, y), (0.5, y + 0.15)) for y in _QUARTERS],
    },
}
"""Four lines from start to end for each role."""


class RhoLines(Part):
    """A small network trained on four lines and scored on four others, plain and regularized.

    Two hidden layers of 30 neurons with ReLU, 2-D in and out, output on the unit circle;
    contrastive loss over all pairs of a batch. For each seed, the plain and the regularized network
    start from the same weights and see the same batches. Rows of role `test` score the test lines,
    rows of role `train` the training lines; `second_singular_value` is the second singular value of
    the embeddings divided by the sum of both, 0.5 if both directions are used equally.

    The text leaves open, and chosen here are: the coordinates of the lines; points uniform on each
    line; batches from a random order of all 60 points; PyTorch's initial weights; and the options
    `optimizer` and `miner`.

    Args:
        lines: `vertical` is figure 12: training lines at four x, test lines at four y and one x,
            so that a network that ignores y maps all of them to one point. `diagonal` is figure 6:
            parallel diagonals train, two vertical and two horizontal segments test.
        samples: points on a line.
        regularizer: `rho` (the text) or `rho_anchor` (the public code).
        optimizer: `adam`, as elsewhere in the paper, or `sgd`.
        miner: any of the miners of pairs; `all_valid` for "standard contrastive loss", while the
            paper's other contrastive trainings have `distance_weighted_pairs`.
        p_switch: one or several probabilities, each with its own regularized network.
        iterations, batch_size, learning_rate, margin: as printed.

    Source: roth2020, appendix G and figures 6 and 12.
    """

    lines: Literal["diagonal", "vertical"] = "vertical"
    samples: Annotated[int, Interval(ge=2)] = 15
    regularizer: Literal["rho", "rho_anchor"] = "rho"
    optimizer: Literal["adam", "sgd"] = "adam"
    miner: PairMiner = "all_valid"
    p_switch: Share | Sequence[Share] = 0.001
    iterations: Count = 200
    batch_size: Annotated[int, Interval(ge=2)] = 24
    learning_rate: Positive = 0.03
    margin: Positive = 0.1

    def __post_init__(self):
        one = isinstance(self.p_switch, int | float)
        self.regularizers = {
            f"p_switch={value:g}": build_regularizer(self.regularizer, p_switch=value)
            for value in ([self.p_switch] if one else self.p_switch)
        }
        # as finished results have it, not as the library prefers
        self.mine = build_miner(self.miner, **defaults("miners", self.miner))

    def run(self, seed: int) -> Outcome:
        rng = np.random.default_rng(seed)
        segments = _SEGMENTS[self.lines]
        points = {role: _on_lines(rng, some, self.samples) for role, some in segments.items()}
        ids = rng.permutation(4 * self.samples)
        labels = np.repeat(np.arange(4), self.samples)
        arrays = {"labels": labels} | {f"input_{role}": some for role, some in points.items()}
        parts = []
        for variant, regularizer in {"": None, **self.regularizers}.items():
            network = self._train(points["train"], labels, regularizer, seed)
            for role, some in points.items():
                with torch.no_grad():
                    embeddings = network(torch.from_numpy(some)).numpy()
                spectrum = np.linalg.svd(embeddings, compute_uv=False)
                scores = self._scores(embeddings, labels, ids, seed)
                scores["second_singular_value"] = spectrum[1] / spectrum.sum()
                parts.append(rows(scores, role=role, variant=variant))
                arrays[f"{variant or 'plain'}_{role}"] = embeddings
        common = {"dataset": f"lines_{self.lines}", "network": "mlp", "method": "contrastive"}
        return joined(parts, arrays, **common, embedding_dim=2)

    def _scores(
        self, embeddings: np.ndarray, labels: np.ndarray, ids: np.ndarray, seed: int
    ) -> dict[str, float]:
        structure = evaluate(embeddings, labels, metrics=STRUCTURE).scores
        # On the circle both distances rank alike, but the inner products of float32 vectors no
        # longer differ where angles are below 3e-4, and collapsed embeddings are closer than that.
        # Random ids: exact ties must not be ranked by class.
        options = {"distance": "euclidean", "ids": ids, "seeds": (seed,), "restarts": 10}
        return (
            evaluate(embeddings, labels, metrics=("recall_at_1", "nmi"), **options).scores
            | structure
        )

    def _train(self, points: np.ndarray, labels: np.ndarray, regularizer, seed: int) -> nn.Module:
        x, y = torch.from_numpy(points), torch.from_numpy(labels)
        sampler = build_sampler("random", labels, batch_size=self.batch_size, seed=seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network = _Network()
            loss = build_loss(
                "contrastive_euclidean", num_classes=4, embedding_dim=2, margin=self.margin
            )
            optimizer = _OPTIMIZERS[self.optimizer](network.parameters(), lr=self.learning_rate)
            for step in range(self.iterations):
                epoch, position = divmod(step, len(sampler))
                if position == 0:
                    batches = list(sampler.epoch(epoch))
                batch = batches[position]
                embeddings = network(x[batch])
                pairs = self.mine(embeddings, y[batch])
                if regularizer is not None:
                    pairs = regularizer(pairs)
                optimizer.zero_grad()
                loss(embeddings, y[batch], pairs).backward()
                optimizer.step()
        return network


class _Network(nn.Sequential):
    """2 - 30 - 30 - 2, onto the unit circle."""

    def __init__(self):
        super().__init__(
            nn.Linear(2, 30), nn.ReLU(), nn.Linear(30, 30), nn.ReLU(), nn.Linear(30, 2)
        )

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        return unit(super().forward(points))


def _on_lines(rng: np.random.Generator, segments: list, samples: int) -> np.ndarray:
    """Points uniform on segments (start, end): float32 [segments * samples, 2], line by line."""
    start, end = np.array(segments, dtype=np.float64)[:, None].transpose(2, 0, 1, 3)
    share = rng.random((len(segments), samples, 1))
    return (start + share * (end - start)).reshape(-1, 2).astype(np.float32)
