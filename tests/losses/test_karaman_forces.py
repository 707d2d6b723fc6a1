"""The forces of karaman2021's tables 3.1-3.3: what autograd gives, what is right, what is printed.

Each function takes f_a, f_p, f_n as rows of [T, D] and returns the three derivatives. PRINTED has
the derivatives that the thesis prints, literally; RIGHT is derived from the loss.
"""

import math

import pytest
import torch
from dmlbench.losses import forces
from test_karaman_equations import build

ROLES = ("anchor", "positive", "negative")
RHO, S, R = 0.6, 1.5, 2.0
TANGENT = math.tan(RHO) ** 2
MARGIN = 7.0
NO_CLAMP = 50.0


def length(x):
    return x.norm(dim=-1, keepdim=True)


def dot(x, y):
    return (x * y).sum(-1, keepdim=True)


def sides(a, p, n):
    return length(a - p), length(a - n), length(p - n)


def original_triplet(a, p, n, power=3):
    ap, an, _ = sides(a, p, n)
    factor = 2 * (2 * ap + an).exp() / (ap.exp() + an.exp()) ** power
    pull, push = (a - p) / ap, (a - n) / an
    return factor * (pull - push), factor * -pull, factor * push


def ranking(a, p, n):
    ap, an, _ = sides(a, p, n)
    return (a - p) / ap - (a - n) / an, (p - a) / ap, (a - n) / an


def facenet(a, p, n):
    return 2 * (n - p), 2 * (p - a), 2 * (a - n)


def ratio(a, p, n):
    ap, an, _ = sides(a, p, n)
    scale = ap + MARGIN
    pull, push = an / scale**2 * (a - p) / ap, (a - n) / an / scale
    return pull - push, -pull, push


def n_pair_triplet(a, p, n):
    weight = (dot(a, n) - dot(a, p)).sigmoid()
    return weight * (n - p), -weight * a, weight * a


def angular_triplet(a, p, n):
    away = TANGENT * (a + p - 2 * n)
    return 2 * (a - p) - 2 * away, 2 * (p - a) - 2 * away, 4 * away


def moving(a, p, n):
    ap, an, _ = sides(a, p, n)
    angle = 1 - dot(p, a)
    return (
        2 * (n - p) + RHO * (p + angle * ((a - p) / ap**2 + (a - n) / an**2)) / (ap * an),
        2 * (p - a) + RHO * (a + angle * (p - a) / ap**2) / (ap * an),
        2 * (a - n) + RHO * angle * (n - a) / (ap * an**3),
    )


def lifted_triplet(a, p, n):
    ap, an, pn = sides(a, p, n)
    near_a, near_p = (NO_CLAMP - an).exp(), (NO_CLAMP - pn).exp()
    w_a, w_p = near_a / (near_a + near_p), near_p / (near_a + near_p)
    push_a, push_p, pull = (n - a) / an * w_a, (n - p) / pn * w_p, (a - p) / ap
    return push_a + pull, push_p - pull, -push_a - push_p


def entangle(a, p, n):
    return (n - a) + (a - p), (n - p) + (p - a), (a - n) + (p - n)


def location_aware(a, p, n):
    return a - p + n, p - a + n, n + a + p


def modified_entangle(a, p, n):
    ap, an, pn = sides(a, p, n)
    push_a, push_p, pull = RHO * (n - a) / an, RHO * (n - p) / pn, (a - p) / ap
    return push_a + pull, push_p - pull, -push_a - push_p


def distance_sensitive(a, p, n):
    ap, an, pn = sides(a, p, n)
    push_a, push_p = RHO * (n - a) / an ** (R + 1), RHO * (n - p) / pn ** (R + 1)
    pull = (a - p) * ap ** (S - 1)
    return push_a + pull, push_p - pull, -push_a - push_p


def printed_original_triplet(a, p, n):
    return original_triplet(a, p, n, power=2)


def printed_facenet(a, p, n):
    return n - p, p - a, a - n


def printed_ratio(a, p, n):
    ap, an, pn = sides(a, p, n)
    return (
        (an * (a - p) / ap - ap * (a - n) / an) / (ap + MARGIN),
        pn * (p - a) / (ap * (ap + MARGIN)),
        (a - n) / (an * (ap + MARGIN)),
    )


def printed_n_pair_triplet(a, p, n):
    weight = (dot(a, n) - dot(a, p)).sigmoid()
    return weight * (n - p), -weight * p, weight * a


def printed_angular_triplet(a, p, n):
    away = TANGENT * (a + p - 2 * n)
    return 2 * (a - p) - 2 * away, 2 * (p - a) - 4 * away, 4 * away


def printed_moving(a, p, n):
    ap, an, _ = sides(a, p, n)
    return (
        2 * (n - p) - RHO * ((a - p) / (ap * an) + ap / an**3 * (n - a)),
        2 * (p - a) - RHO * (p + a) / (ap * an),
        2 * (a - n) - RHO * (a + n) / (ap * an**3),
    )


RIGHT = {
    original_triplet: {},
    ranking: {"margin": NO_CLAMP},
    ratio: {"margin": MARGIN},
    facenet: {"margin": NO_CLAMP},
    n_pair_triplet: {},
    angular_triplet: {"rho": RHO, "hinge": False},
    moving: {"rho": RHO, "margin": NO_CLAMP},
    lifted_triplet: {"margin": NO_CLAMP},
    entangle: {"margin": NO_CLAMP},
    location_aware: {"margin": NO_CLAMP},
    modified_entangle: {"rho": RHO, "margin": NO_CLAMP},
    distance_sensitive: {"s": S, "r": R, "rho": RHO, "m1": NO_CLAMP, "m2": 1e6},
}
PRINTED = {
    original_triplet: printed_original_triplet,
    ranking: ranking,
    ratio: printed_ratio,
    facenet: printed_facenet,
    n_pair_triplet: printed_n_pair_triplet,
    angular_triplet: printed_angular_triplet,
    moving: printed_moving,
    lifted_triplet: lifted_triplet,
    entangle: entangle,
    location_aware: location_aware,
    modified_entangle: modified_entangle,
    distance_sensitive: distance_sensitive,
}
# At a = (1, 0), p = (0.6, 0.8), n = (-0.6, 0.8): the derivative that is printed, the right one.
WRONG = {
    ("original_triplet", "anchor"): ((-0.4506, -0.4506), (-0.0535, -0.0535)),
    ("original_triplet", "positive"): ((-0.4506, 0.9013), (-0.0535, 0.1069)),
    ("original_triplet", "negative"): ((0.9013, -0.4506), (0.1069, -0.0535)),
    ("ratio", "anchor"): ((0.0, -0.1520), (-0.1005, 0.0310)),
    ("ratio", "positive"): ((-0.0680, 0.1360), (-0.0128, 0.0257)),
    ("facenet", "anchor"): ((-1.2, 0.0), (-2.4, 0.0)),
    ("facenet", "positive"): ((-0.4, 0.8), (-0.8, 1.6)),
    ("facenet", "negative"): ((1.6, -0.8), (3.2, -1.6)),
    ("n_pair_triplet", "positive"): ((-0.1389, -0.1852), (-0.2315, 0.0)),
    ("angular_triplet", "positive"): ((-6.0421, 3.0977), (-3.4210, 2.3489)),
    ("moving", "anchor"): ((-2.4, 0.2250), (-2.0250, 0.1125)),
    ("moving", "positive"): ((-1.4, 1.3), (-0.5, 1.75)),
    ("moving", "negative"): ((3.1531, -1.6938), (3.1250, -1.5625)),
}


def random_triplets(count=40):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(3, count, 3, generator=generator, dtype=torch.float64)


def by_autograd(loss, a, p, n):
    return forces(build(loss.__name__, **RIGHT[loss]), a, p, n)


@pytest.mark.parametrize("loss", RIGHT, ids=lambda loss: loss.__name__)
def test_autograd_gives_the_corrected_closed_forms(loss):
    a, p, n = random_triplets()
    for ours, closed in zip(by_autograd(loss, a, p, n), loss(a, p, n), strict=True):
        torch.testing.assert_close(ours, closed, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("loss", RIGHT, ids=lambda loss: loss.__name__)
def test_the_printed_derivatives_are_right_but_for_the_listed_ones(loss, role):
    a, p, n = random_triplets()
    i = ROLES.index(role)
    apart = (PRINTED[loss](a, p, n)[i] - by_autograd(loss, a, p, n)[i]).abs().amax(dim=1)
    if (loss.__name__, role) in WRONG:
        assert (apart > 1e-3).all()
    else:
        assert (apart < 1e-9).all()


@pytest.mark.parametrize(("name", "role"), WRONG)
def test_the_wrong_derivatives_differ_by_this_much(name, role):
    a, p, n = torch.tensor([[1, 0], [0.6, 0.8], [-0.6, 0.8]], dtype=torch.float64).unsqueeze(1)
    loss = next(loss for loss in RIGHT if loss.__name__ == name)
    i = ROLES.index(role)
    printed, right = WRONG[name, role]
    assert PRINTED[loss](a, p, n)[i].squeeze(0).tolist() == pytest.approx(printed, abs=1e-4)
    assert by_autograd(loss, a, p, n)[i].squeeze(0).tolist() == pytest.approx(right, abs=1e-4)


def test_entangles_first_printed_line_has_the_wrong_sign():
    a, p, n = random_triplets()
    ap, an, pn = sides(a, p, n)
    second_line = (ap**2 - an**2 - pn**2) / 2
    products = dot(a, n) - dot(a, p) + dot(p, n)
    torch.testing.assert_close(products - dot(n, n), second_line)
    assert ((products + dot(n, n) - second_line).abs() > 1e-3).all()


def test_movings_printed_difference_of_distances_has_another_gradient():
    a, p, n = random_triplets()
    a.requires_grad_()
    ap, an, _ = sides(a, p, n)
    value = ap**2 - an**2 - RHO * (1 - dot(p, a)) / (ap - an)
    (gradient,) = torch.autograd.grad(value.sum(), a)
    assert ((gradient - moving(a, p, n)[0]).norm(dim=1) > 1e-3).all()
    assert ((gradient - printed_moving(a, p, n)[0]).norm(dim=1) > 1e-3).all()
