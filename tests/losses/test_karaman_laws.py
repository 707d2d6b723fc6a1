"""Laws of karaman2021's losses: relations between them, invariances, eq. 3.19, B.1."""

import math

import pytest
import torch
from dmlbench.errors import UserError
from dmlbench.losses import forces
from dmlbench.losses.distance_sensitive import ideal_rho
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from test_karaman_equations import NAMES, assert_same, batch, build
from torch.nn.functional import normalize

seeds = st.integers(0, 10**6)
few = settings(deadline=None, max_examples=10)
margins = st.floats(-1, 3)


@few
@given(seed=seeds, margin=margins)
def test_entangle_is_the_distance_sensitive_loss_of_1_minus_1_1(seed, margin):
    x, labels = batch(seed, 11, 3, unit=False)
    general = build("distance_sensitive", s=1, r=-1, rho=1.0, m1=margin, m2=1e9)
    assert_same(build("entangle", margin=margin)(x, labels), general(x, labels), x)


@few
@given(seed=seeds, margin=margins, rho=st.floats(0, 3))
def test_modified_entangle_is_the_distance_sensitive_loss_of_0_0(seed, margin, rho):
    x, labels = batch(seed, 11, 3, unit=False)
    general = build("distance_sensitive", s=0, r=0, rho=rho, m1=margin, m2=1e9)
    special = build("modified_entangle", rho=rho, margin=margin)
    assert_same(special(x, labels), general(x, labels), x)


@few
@given(seed=seeds)
def test_over_all_triplets_and_unclamped_the_link_between_positive_and_negative_adds_nothing(seed):
    x, labels = batch(seed, 11, 3)
    modified = build("modified_entangle", rho=0.5, margin=40.0)
    assert_same(modified(x, labels), build("ranking", margin=40.0)(x, labels), x)
    entangled = build("distance_sensitive", s=1, r=-1, rho=0.5, m1=20.0, m2=1000.0)
    assert_same(2 * entangled(x, labels), build("facenet", margin=40.0)(x, labels), x)


@few
@given(seed=seeds)
def test_on_the_unit_sphere_the_location_aware_loss_is_the_entangle_loss(seed):
    x, labels = batch(seed, 11, 3, unit=False)
    location = build("location_aware", margin=-1.5)(normalize(x), labels)
    entangle = build("entangle", margin=1.0)(normalize(x), labels)
    assert_same(location, entangle, x)


@few
@given(seed=seeds, margin=st.floats(0.05, 2))
def test_mined_facenet_has_facenets_force_on_semi_hard_negatives_and_no_other(seed, margin):
    generator = torch.Generator().manual_seed(seed)
    a, p, n = torch.randn(3, 30, 3, generator=generator, dtype=torch.float64)
    harder = (a - p).square().sum(1) - (a - n).square().sum(1)
    semi_hard = ((-margin < harder) & (harder < 0)).unsqueeze(1)
    mined = forces(build("facenet_mined", margin=margin), a, p, n)
    plain = forces(build("facenet", margin=margin), a, p, n)
    for ours, whole in zip(mined, plain, strict=True):
        torch.testing.assert_close(ours, torch.where(semi_hard, whole, 0))


@pytest.mark.parametrize("name", NAMES)
def test_a_rotation_changes_nothing_and_a_shift_only_what_sees_the_origin(name):
    x, labels = batch(0, 11, 3)
    x = x.detach()
    loss = build(name)
    rotation, _ = torch.linalg.qr(torch.randn(8, 8, dtype=torch.float64))
    torch.testing.assert_close(loss(x @ rotation, labels), loss(x, labels))
    shifted = loss(x + torch.arange(8) / 10, labels)
    sees_the_origin = name in ("moving", "n_pair_triplet", "location_aware")
    assert torch.isclose(shifted, loss(x, labels)).item() != sees_the_origin


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in ("moving", "n_pair_triplet", "location_aware")]
)
def test_the_forces_of_a_triplet_add_up_to_nothing(name):
    a, p, n = torch.randn(3, 20, 4, dtype=torch.float64)
    total = sum(forces(build(name), a, p, n))
    torch.testing.assert_close(total, torch.zeros_like(total), rtol=0, atol=1e-9)


def test_the_ideal_rho_of_the_thesis():
    assert ideal_rho(32, 4) == 12 / 7
    for x in range(2, 8):
        for y in range(1, x):
            printed = 2 ** (x - y - 1) * (2**y - 1) / (2 ** (x - y) - 1)
            assert ideal_rho(2**x, 2**y) == pytest.approx(printed)


@pytest.mark.parametrize(("classes", "images"), [(4, 8), (2, 3), (5, 2)])
def test_the_ideal_rho_balances_pull_and_push(classes, images):
    # On a regular simplex all distances are equal and the force between two points can be read
    # off a single coordinate.
    size = classes * images
    x = torch.eye(size, dtype=torch.float64).requires_grad_()
    labels = torch.arange(classes).repeat_interleave(images)
    loss = build("modified_entangle", rho=ideal_rho(size, classes), margin=40.0)
    (gradient,) = torch.autograd.grad(loss(x, labels), x)
    between = gradient[~torch.eye(size, dtype=torch.bool)]
    torch.testing.assert_close(between.abs(), between[0].abs().expand_as(between))
    assert (between > 0).any()
    assert (between < 0).any()


@pytest.mark.parametrize(("batch_size", "classes"), [(32, 1), (32, 5), (4, 4), (0, 2)])
def test_a_batch_without_balance_is_refused(batch_size, classes):
    with pytest.raises(UserError, match=f"^batch_size={batch_size}, num_classes={classes}: "):
        ideal_rho(batch_size, classes)


# Appendix B: s = 0, r = 0, d = 1, rho = 12/7; 4.6381 comes out for a ranking margin of 0.1.
D, RADIUS, RHO = 1.0, 1.1, 12 / 7


def keeps_all_that_ranking_keeps(m1):
    axis = torch.linspace(-2, 3, 81, dtype=torch.float64)
    n = torch.cartesian_prod(axis, axis)
    a, p = torch.zeros_like(n), torch.tensor([D, 0.0], dtype=torch.float64).expand_as(n)
    d_an, d_pn = (n - a).norm(dim=1), (n - p).norm(dim=1)
    ranking = (d_an < RADIUS - 1e-6) | (d_pn < RADIUS - 1e-6)
    farthest = torch.tensor([[-RADIUS + 1e-4, 0.0]], dtype=torch.float64)
    n = torch.cat([n[ranking][::5], farthest])
    loss = build("distance_sensitive", s=0, r=0, rho=RHO, m1=m1, m2=1000.0)
    force, _, _ = forces(loss, a[: len(n)], p[: len(n)], n)
    return bool((force.norm(dim=1) > 0).all())


def smallest_ellipse():
    """Squared semi-axes of the smallest ellipse around both circles: B.4 minimized by B.5."""
    b = RADIUS**2 + (D * math.sqrt(D**2 + 32 * RADIUS**2) - D**2) / 16
    return b * (1 + D**2 / 4 / (b - RADIUS**2)), b


def m1_of(major_axis):
    """B.6 for s = 0, r = 0."""
    return 2 * RHO * major_axis - D


def test_b5_minimizes_the_ellipse():
    a, b = smallest_ellipse()
    area = minimize_scalar(
        lambda b: b**2 * (1 + D**2 / 4 / (b - RADIUS**2)), bounds=(1.22, 5), method="bounded"
    )
    assert b == pytest.approx(area.x, abs=1e-4)
    assert a * b == pytest.approx(area.fun)


def test_the_bound_of_appendix_b_keeps_ranking_losss_region():
    a, b = smallest_ellipse()
    assert m1_of(math.sqrt(a)) == pytest.approx(4.6381, abs=5e-5)
    assert a > b + D**2 / 4
    assert keeps_all_that_ranking_keeps(4.6381)


def test_the_bound_of_appendix_b_is_enough_but_not_the_least():
    # d_an + d_pn <= 2 RADIUS + D on both circles, with equality on the axis.
    least = m1_of(RADIUS + D / 2)
    assert least == pytest.approx(4.4857, abs=5e-5)
    assert keeps_all_that_ranking_keeps(least)
    assert not keeps_all_that_ranking_keeps(least - 0.01)


def test_the_quarters_printed_in_appendix_b_are_too_small():
    a, b = smallest_ellipse()
    assert not keeps_all_that_ranking_keeps(m1_of(math.sqrt(max(a / 4, b / 4 + D**2 / 16))))
