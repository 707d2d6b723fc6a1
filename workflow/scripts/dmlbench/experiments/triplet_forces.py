"""The geometry of triplet losses: forces, mined regions, and the printed formulas."""

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from dmlbench.experiments._outcome import Outcome, joined, rows
from dmlbench.experiments._printed_forces import PRINTED
from dmlbench.experiments._regions import kept_region
from dmlbench.losses import build_loss, forces
from dmlbench.losses.distance_sensitive import ideal_rho
from dmlbench.values import Count, Interval, Part

METHODS = (
    "original_triplet",
    "ranking",
    "ratio",
    "facenet",
    "n_pair_triplet",
    "angular_triplet",
    "moving",
    "entangle",
    "location_aware",
    "modified_entangle",
    "distance_sensitive",
)
METRICS = (
    "printed_is_right",
    "largest_difference",
    "difference_at_example",
    "printed_x",
    "printed_y",
    "autograd_x",
    "autograd_y",
    "ideal_rho",
    "m1_bound_example",
    "m1_bound_least",
    "m1_bound_text",
)

ROLES = ("anchor", "positive", "negative")

_EXAMPLE = ((1.0, 0.0), (0.6, 0.8), (-0.6, 0.8))
_SAME = 1e-9
_IDEAL = 12 / 7
_NO_CLAMP = {"m1": 1e3, "m2": 1e6}


class TripletForces(Part):
    """Forces by autograd next to the printed derivatives; regions of the in-loss miner.

    Table: for each of the eleven losses of tables 3.1 to 3.3 and each point of a triplet
    (variant `point=<role>`), `printed_is_right` (1 or 0) over random triplets, `largest_difference`
    among them, and `difference_at_example` at a = (1, 0), p = (0.6, 0.8), n = (-0.6, 0.8), with the
    coordinates of the printed and of the right derivative there (`printed_x`, ..., `autograd_y`).
    Also `ideal_rho` (equation 3.19) and three bounds of appendix B for r = s = 0, d_ap = 1
    (`ellipse_bounds`).

    Arrays:
        triplets: float64 [T, 3, 3], the random triplets; example: [3, 2].
        printed_<loss>, autograd_<loss>: [3, 2], the derivatives at the example.
        arrows_<figure>_<panel>: [3, 2, 2], for anchor, positive, negative: place, and where
            gradient descent moves it (minus the gradient).
        region_<figure>_<panel>: bool [grid, grid], True where a triplet with its negative at that
            place has forces; rows from low to high y, between the corners points_<figure> gives;
            extent_<figure>: x from, x to, y from, y to.
        points_<figure>: [2, 2], anchor and positive.

    Figure 3.4 does not say its powers: s = r = 0 here, where only rho acts.

    Args:
        triplets: random triplets on which a printed derivative is checked.
        grid: places of a negative along a side of a region.

    Source: karaman2021, tables 3.1 to 3.3, figures 3.4 to 3.7 and B.1, equation 3.19, appendix B.
    """

    triplets: Count = 100
    grid: Annotated[int, Interval(ge=2)] = 121

    def run(self, seed: int) -> Outcome:
        generator = torch.Generator().manual_seed(seed)
        drawn = torch.randn(self.triplets, 3, 3, generator=generator, dtype=torch.float64)
        example = torch.tensor(_EXAMPLE, dtype=torch.float64)
        arrays = {"triplets": drawn.numpy(), "example": example.numpy()}
        parts = []
        for name in PRINTED:
            apart, _, _ = _compare(name, drawn)
            at_example, printed, derived = _compare(name, example[None])
            arrays[f"printed_{name}"], arrays[f"autograd_{name}"] = printed[0], derived[0]
            for place, role in enumerate(ROLES):
                largest = apart[:, place].max()
                scores = {
                    "printed_is_right": largest < _SAME,
                    "largest_difference": largest,
                    "difference_at_example": at_example[0, place],
                    **dict(zip(("printed_x", "printed_y"), printed[0, place], strict=True)),
                    **dict(zip(("autograd_x", "autograd_y"), derived[0, place], strict=True)),
                }
                parts.append(rows(scores, method=name, variant=f"point={role}"))
        parts += list(_constants())
        arrays |= _arrows()
        arrays |= self._regions()
        return joined(parts, arrays, dataset="triplets", role="train")

    def _regions(self) -> dict[str, np.ndarray]:
        arrays = {
            "points_3_5": np.array([(0, 0), (0.5, 0)], float),
            "extent_3_5": np.array([-1.5, 2.0, -1.75, 1.75]),
            "points_b_1": np.array([(0, 0), (1, 0)], float),
            "extent_b_1": np.array([-1.5, 2.5, -2.0, 2.0]),
        }

        def region(figure: str, loss: nn.Module, anchor: int = 0) -> np.ndarray:
            points = torch.from_numpy(arrays[f"points_{figure}"])
            pair = points if anchor == 0 else points.flip(0)
            return kept_region(loss, pair, arrays[f"extent_{figure}"], self.grid)

        for r, m1, m2 in ((-1, 2.5, 2.0), (0, 2.5, 2.0), (2, -3.5, 20.0), (3, -3.5, 20.0)):
            loss = _loss("distance_sensitive", s=0, r=r, rho=_IDEAL, m1=m1, m2=m2)
            arrays[f"region_3_5_r={r}"] = region("3_5", loss)
        ranking = _loss("ranking", margin=0.1)
        arrays["region_b_1_ranking, anchor A"] = region("b_1", ranking)
        arrays["region_b_1_ranking, anchor P"] = region("b_1", ranking, anchor=1)
        for label, m1 in (("printed", 4.6381), ("least", ellipse_bounds(1.0, 0.1, _IDEAL)[1])):
            ellipse = _loss("distance_sensitive", s=0, r=0, rho=_IDEAL, m1=m1, m2=1e6)
            arrays[f"region_b_1_m1={m1:.4f} ({label})"] = region("b_1", ellipse)
        return arrays


def ellipse_bounds(d: float, margin: float, rho: float) -> tuple[float, float, float]:
    """Bounds on m1 from which the miner of r = s = 0 keeps all that the ranking loss keeps.

    The ranking loss keeps negatives within d + margin of the anchor; with the positive as anchor,
    within d + margin of it. The ellipse d_an + d_pn <= 2 r_major with m1 = 2 rho r_major - d is to
    contain both circles.

    Args:
        d: distance of anchor and positive.
        margin: of the ranking loss.
        rho: push over pull.

    Returns:
        - as the example prints it, r_major^2 = a with a by equations B.4 and B.5: the least area of
          any ellipse around the circles, though its foci need not be anchor and positive;
        - the least that is enough: on a circle d_an + d_pn is at most 2 (d + margin) + d;
        - with r_major^2 = a / 4, as the text writes the condition; too small.

    Source: karaman2021, appendix B; 4.6381 for d = 1, margin = 0.1, rho = 12/7.
    """
    radius = d + margin
    b = radius**2 + (d * math.sqrt(d**2 + 32 * radius**2) - d**2) / 16
    a = b * (1 + d**2 / 4 / (b - radius**2))

    def bound(r_major: float) -> float:
        return 2 * rho * r_major - d

    return bound(math.sqrt(a)), bound(radius + d / 2), bound(math.sqrt(a) / 2)


def _loss(name: str, **options) -> nn.Module:
    return build_loss(name, num_classes=2, embedding_dim=2, **options)


def _compare(name: str, triplets: Tensor) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Largest coordinate of the difference [T, 3], printed and derived forces [T, 3, D]."""
    printed_derivatives, options = PRINTED[name]
    a, p, n = triplets.unbind(1)
    printed = torch.stack(printed_derivatives(a, p, n), dim=1)
    derived = torch.stack(forces(_loss(name, **options), a, p, n), dim=1)
    return (printed - derived).abs().amax(2).numpy(), printed.numpy(), derived.numpy()


def _constants() -> Iterator[pd.DataFrame]:
    yield rows({"ideal_rho": ideal_rho(2**5, 2**2)}, method="distance_sensitive", variant="x=5,y=2")
    names = ("m1_bound_example", "m1_bound_least", "m1_bound_text")
    bounds = ellipse_bounds(1.0, 0.1, _IDEAL)
    yield rows(
        dict(zip(names, bounds, strict=True)),
        method="distance_sensitive",
        variant="d=1,margin=0.1,rho=12/7",
    )


def _arrows() -> dict[str, np.ndarray]:
    """The panels of figures 3.4, 3.6 and 3.7."""
    equilateral = [(-1, 0), (1, 0), (0, math.sqrt(3))]
    panels = {
        f"3_4_rho={rho:.3g}": (equilateral, {"s": 0, "r": 0, "rho": rho})
        for rho in (0.5, 1.0, _IDEAL, 2.0)
    }
    for r in (-1, 0, 2, 3):
        panels[f"3_6_r={r}"] = ([(0, 0), (1, 0), (0, 0.5)], {"s": 0, "r": r, "rho": _IDEAL})
    for s in (0, 1):
        for r in (-1, 0, 2):
            triplet = [(0, 0), (0.5, 0), (0, 1)]
            panels[f"3_7_s={s}, r={r}"] = (triplet, {"s": s, "r": r, "rho": _IDEAL})
    arrays = {}
    for panel, (triplet, options) in panels.items():
        places = torch.tensor(triplet, dtype=torch.float64)
        loss = _loss("distance_sensitive", **options, **_NO_CLAMP)
        gradient = torch.cat(forces(loss, *places[:, None].unbind(0)))
        arrays[f"arrows_{panel}"] = torch.stack([places, -gradient], dim=1).numpy()
    return arrays
