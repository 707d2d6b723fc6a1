"""The derivatives that karaman2021 prints in tables 3.1 to 3.3, letter by letter.

Each function takes anchor, positive and negative [T, D] and returns the three printed derivatives,
right or wrong. `n_pair_triplet` and the others are named after the losses of the library.
"""

import math
from collections.abc import Callable

from torch import Tensor

Derivatives = tuple[Tensor, Tensor, Tensor]

MARGIN, RHO, S, R = 7.0, 0.7, 1.5, 2.0
"""Hyper-parameters of every loss that has them; rho is an angle in radians for `angular_triplet`.
The margin of `ratio` is large because the tables leave its hinge out."""

_ALWAYS_ON = 50.0
"""A margin at which no hinge of the others is zero."""


def _length(x: Tensor) -> Tensor:
    return x.norm(dim=-1, keepdim=True)


def _dot(x: Tensor, y: Tensor) -> Tensor:
    return (x * y).sum(-1, keepdim=True)


def original_triplet(a: Tensor, p: Tensor, n: Tensor) -> Derivatives:
    d_ap, d_an = _length(a - p), _length(a - n)
    factor = 2 * (2 * d_ap + d_an).exp() / (d_ap.exp() + d_an.exp()) ** 2
    return (
        factor * ((a - p) / d_ap - (a - n) / d_an),
        factor * (p - a) / d_ap,
        factor * (a - n) / d_an,
    )


def ranking(a: Tensor, p: Tensor, n: Tensor) -> Derivatives:
    d_ap, d_an = _length(a - p), _length(a - n)
    return (a - p) / d_ap - (a - n) / d_an, (p - a) / d_ap, (a - n) / d_an


def ratio(a: Tensor, p: Tensor, n: Tensor) -> Derivatives:
    d_ap, d_an, d_pn = _length(a - p), _length(a - n), _length(p - n)
    return (
        (d_an * (a - p) / d_ap - d_ap * (a - n) / d_an) / (d_ap + MARGIN),
        d_pn * (p - a) / (d_ap * (d_ap + MARGIN)),
        (a - n) / (d_an * (d_ap + MARGIN)),
    )


def facenet(a: Tensor, p: Tensor, n: Tensor) -> Derivatives:
    return n - p, p - a, a - n


def n_pair_triplet(a: Tensor, p: Tensor, n: Tensor) -> Derivatives:
    e = (_dot(a, n) - _dot(a, p)).exp()
    return e / (1 + e) * (n - p), -e / (1 + e) * p, e / (1 + e) * a


def angular_triplet(a: Tensor, p: Tensor, n: Tensor) -> Derivatives:
    t = math.tan(RHO) ** 2
    away = a + p - 2 * n
    return 2 * (a - p) - 2 * t * away, 2 * (p - a) - 4 * t * away, 4 * t * away


def moving(a: Tensor, p: Tensor, n: Tensor) -> Derivatives:
    d_ap, d_an = _length(a - p), _length(a - n)
    return (
        2 * (n - p) - RHO * ((a - p) / (d_ap * d_an) + d_ap / d_an**3 * (n - a)),
        2 * (p - a) - RHO * (p + a) / (d_ap * d_an),
        2 * (a - n) - RHO * (a + n) / (d_ap * d_an**3),
    )


def entangle(a: Tensor, p: Tensor, n: Tensor) -> Derivatives:
    return (n - a) + (a - p), (n - p) + (p - a), (a - n) + (p - n)


def location_aware(a: Tensor, p: Tensor, n: Tensor) -> Derivatives:
    return a - p + n, p - a + n, n + a + p


def modified_entangle(a: Tensor, p: Tensor, n: Tensor) -> Derivatives:
    d_ap, d_an, d_pn = _length(a - p), _length(a - n), _length(p - n)
    return (
        RHO * (n - a) / d_an + (a - p) / d_ap,
        RHO * (n - p) / d_pn + (p - a) / d_ap,
        RHO * ((a - n) / d_an + (p - n) / d_pn),
    )


def distance_sensitive(a: Tensor, p: Tensor, n: Tensor) -> Derivatives:
    d_ap, d_an, d_pn = _length(a - p), _length(a - n), _length(p - n)
    return (
        RHO * (n - a) / d_an ** (R + 1) + (a - p) * d_ap ** (S - 1),
        RHO * (n - p) / d_pn ** (R + 1) + (p - a) * d_ap ** (S - 1),
        RHO * ((a - n) / d_an ** (R + 1) + (p - n) / d_pn ** (R + 1)),
    )


PRINTED: dict[str, tuple[Callable[[Tensor, Tensor, Tensor], Derivatives], dict]] = {
    "original_triplet": (original_triplet, {}),
    "ranking": (ranking, {"margin": _ALWAYS_ON}),
    "ratio": (ratio, {"margin": MARGIN}),
    "facenet": (facenet, {"margin": _ALWAYS_ON}),
    "n_pair_triplet": (n_pair_triplet, {}),
    "angular_triplet": (angular_triplet, {"rho": RHO, "hinge": False}),
    "moving": (moving, {"rho": RHO, "margin": _ALWAYS_ON}),
    "entangle": (entangle, {"margin": _ALWAYS_ON}),
    "location_aware": (location_aware, {"margin": _ALWAYS_ON}),
    "modified_entangle": (modified_entangle, {"rho": RHO, "margin": _ALWAYS_ON}),
    "distance_sensitive": (
        distance_sensitive,
        {"s": S, "r": R, "rho": RHO, "m1": _ALWAYS_ON, "m2": 2 * _ALWAYS_ON},
    ),
}
"""Loss, in the order of the tables -> its printed derivatives, and the options to build it with."""
