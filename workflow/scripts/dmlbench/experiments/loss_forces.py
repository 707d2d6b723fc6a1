"""The forces of all triplet losses of the library: arrows, and where a negative acts."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
import torch

from dmlbench import registry
from dmlbench.experiments._outcome import Outcome, joined, rows
from dmlbench.experiments._regions import kept_region
from dmlbench.losses import build_loss, forces
from dmlbench.values import Interval, Part, TripletLoss, losses_of_triplets

METRICS = ("force", "kept")

_ANGLES = (0.0, 1.0, 0.6)
"""Angles of anchor, positive and negative on the unit circle: the negative is in between."""


class LossForces(Part):
    """Forces on a triplet of the unit circle, and the places of a negative that has a force.

    Table: for each loss and each point of the triplet (variant `point=<role>`) the `force`, the
    length of the derivative with respect to it, and `kept`, the share of the places around anchor
    and positive at which a negative causes any force: what an in-loss miner keeps.

    Arrays, as of `triplet_forces`: arrows_forces_<loss> [3, 2, 2], each point with its step against
    the derivative, all scaled by one number so that the longest of a loss has length 1;
    region_forces_<loss> bool [grid, grid]; points_forces, extent_forces.

    Args:
        losses: their names; all of the library that take triplets if not given.
        options: loss -> the numbers of its hyper-parameters that differ from its defaults.
        grid: places of a negative along a side of a region.

    Source: the analysis of karaman2021, section 3.
    """

    losses: Sequence[TripletLoss] | None = None
    options: Mapping[TripletLoss, Mapping[str, float]] | None = None
    grid: Annotated[int, Interval(ge=2)] = 81

    def run(self, seed: int) -> Outcome:
        triplet = torch.tensor(_ANGLES, dtype=torch.float64)
        places = torch.stack([triplet.cos(), triplet.sin()], dim=1)
        extent = np.array([-2.0, 2.0, -2.0, 2.0])
        arrays = {"points_forces": places[:2].numpy(), "extent_forces": extent}
        parts = []
        for name in self.losses or triplet_losses():
            options = (self.options or {}).get(name, {})
            loss = build_loss(name, num_classes=2, embedding_dim=2, **options)
            derivatives = torch.cat(forces(loss, *places[:, None].unbind(0)))
            kept = kept_region(loss, places[:2], extent, self.grid)
            lengths = derivatives.norm(dim=1)
            steps = -derivatives / lengths.max().clamp_min(torch.finfo(lengths.dtype).tiny)
            arrays[f"arrows_forces_{name}"] = torch.stack([places, steps], dim=1).numpy()
            arrays[f"region_forces_{name}"] = kept
            for role, length in zip(("anchor", "positive", "negative"), lengths, strict=True):
                scores = {"force": float(length), "kept": kept.mean()}
                parts.append(rows(scores, method=name, variant=f"point={role}"))
        return joined(parts, arrays, dataset="triplets", role="train")


def triplet_losses() -> list[str]:
    """The losses of the library that take `Triplets`, without those that learn one value per class.

    Each point is a class of its own here.
    """
    named = losses_of_triplets()
    return [
        name for name in named if not registry.annotation("losses", name, "__init__", "num_classes")
    ]
