"""Which similarities the weight of a negative pair depends on: psomas2020, table 1, by autograd."""

from typing import Annotated

import numpy as np
import torch
from torch import Tensor, nn

from dmlbench.experiments._outcome import Outcome, joined, rows
from dmlbench.losses import build_loss
from dmlbench.miners import build_miner
from dmlbench.plan.catalogs.naming import defaults
from dmlbench.values import Interval, Part

_LABELS = torch.tensor([0, 0, 1, 2])
"""Of an anchor, its positive, its negative and another negative."""
_PAIRS = torch.triu_indices(4, 4, 1)
_MOVED = {"self": (0, 2), "negative": (0, 3), "positive": (0, 1)}
"""Type of similarity -> the pair whose similarity moves."""
_USUAL = {(0, 2): 0.6}
"""Similarity of a pair while others move; 0.3 if not given."""

METHODS = (
    "contrastive",
    "triplet",
    "lifted_structure_per_anchor",
    "n_pair",
    "multi_similarity",
    "multi_similarity, mined",
)
METRICS = (
    "contrastive_self",
    "contrastive_negative",
    "contrastive_positive",
    "triplet_self",
    "triplet_negative",
    "triplet_positive",
    "lifted_structure_per_anchor_self",
    "lifted_structure_per_anchor_negative",
    "lifted_structure_per_anchor_positive",
    "n_pair_self",
    "n_pair_negative",
    "n_pair_positive",
    "multi_similarity_self",
    "multi_similarity_negative",
    "multi_similarity_positive",
    "multi_similarity_mined_self",
    "multi_similarity_mined_negative",
    "multi_similarity_mined_positive",
)


class SimilarityTypes(Part):
    """Whether the weight |dL / dS_an| of a negative pair changes as a similarity moves.

    The three types of Wang et al. 2019, as psomas2020 section 2.3.1.7 defines them: `self`, S_an
    itself; `negative`, the anchor's similarity to another negative; `positive`, that to a positive.
    One of them moves from -0.2 to 0.8 and all others stay; the weight is the derivative with
    respect to S_an alone, of the loss of four points that have these similarities. Values are 1 if
    it changes, 0 if it does not, under the metrics <loss>_<type>.

    Args:
        steps: number of values of the similarity that moves.
    """

    steps: Annotated[int, Interval(ge=2)] = 21

    def run(self, seed: int) -> Outcome:
        parts, arrays = [], {}
        for name in METHODS:
            loss, _, mined = name.partition(", ")
            built = build_loss(loss, num_classes=3, embedding_dim=4)
            miner = build_miner(loss, **defaults("miners", loss)) if mined else None
            scores = {}
            for kind, pair in _MOVED.items():
                weights = self._weights(built, miner, pair)
                key = f"{name.replace(', ', '_')}_{kind}"
                scores[key] = float(np.ptp(weights) > 1e-6)
                arrays[key] = weights
            parts.append(rows(scores, method=name))
        return joined(parts, arrays, dataset="pairs")

    def _weights(self, loss: nn.Module, miner, moved: tuple[int, int]) -> np.ndarray:
        weights = []
        for similarity in np.linspace(-0.2, 0.8, self.steps):
            weights.append(_weight(loss, miner, _USUAL | {moved: similarity}))
        return np.array(weights)


def _weight(loss: nn.Module, miner, similarities: dict[tuple[int, int], float]) -> float:
    """|dL / dS_an| of the loss of points that have these similarities."""
    pairs = [tuple(pair) for pair in _PAIRS.T.tolist()]
    values = [similarities.get(pair, 0.3) for pair in pairs]
    entries = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    points = _points(entries)
    tuples = [miner(points.detach(), _LABELS)] if miner else []
    (slopes,) = torch.autograd.grad(loss(points, _LABELS, *tuples), entries)
    return abs(float(slopes[pairs.index((0, 2))]))


def _points(entries: Tensor) -> Tensor:
    """Points of unit length with these products of pairs: rows of a Cholesky factor."""
    S = torch.eye(4, dtype=entries.dtype).index_put(tuple(_PAIRS), entries)
    return torch.linalg.cholesky(S + S.T - torch.eye(4, dtype=entries.dtype))
