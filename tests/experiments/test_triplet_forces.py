"""Forces against finite differences, printed derivatives by name, regions by their inequalities."""

import math

import numpy as np
import pytest
import torch
from dmlbench.experiments import build_experiment
from dmlbench.experiments._printed_forces import PRINTED
from dmlbench.experiments.triplet_forces import ellipse_bounds
from dmlbench.losses import build_loss, forces

WRONG = {
    "original_triplet": {"anchor", "positive", "negative"},
    "ratio": {"anchor", "positive"},
    "facenet": {"anchor", "positive", "negative"},
    "n_pair_triplet": {"positive"},
    "angular_triplet": {"positive"},
    "moving": {"anchor", "positive", "negative"},
}
RHO = 12 / 7


@pytest.fixture(scope="module")
def outcome():
    return build_experiment("triplet_forces", triplets=20, grid=41).run(0)


def distance_sensitive(a, p, n, *, s, r, rho):
    """Equation 3.17 without margin, of three points."""
    ap, an, pn = math.dist(a, p), math.dist(a, n), math.dist(p, n)
    return ap ** (s + 1) / (s + 1) - rho / (1 - r) * (an ** (1 - r) + pn ** (1 - r))


def slopes(function, points, step=1e-6):
    """Central differences of a function of three points: [3, 2]."""
    found = np.zeros((3, 2))
    for i, j in np.ndindex(3, 2):
        moved = np.zeros((3, 2))
        moved[i, j] = step
        found[i, j] = (function(*(points + moved)) - function(*(points - moved))) / (2 * step)
    return found


def test_many_triplets_have_the_forces_of_each_alone():
    generator = torch.Generator().manual_seed(0)
    a, p, n = torch.randn(3, 150, 2, generator=generator, dtype=torch.float64)
    loss = build_loss(
        "distance_sensitive", num_classes=2, embedding_dim=2, s=1, r=2, rho=1.5, m1=1e3, m2=1e6
    )
    found = torch.stack(forces(loss, a, p, n), dim=1).numpy()
    assert found.shape == (150, 3, 2)
    for i in (0, 63, 64, 149):
        points = torch.stack([a[i], p[i], n[i]]).numpy()
        expected = slopes(lambda *x: distance_sensitive(*x, s=1, r=2, rho=1.5), points)
        np.testing.assert_allclose(found[i], expected, rtol=1e-5, atol=1e-6)


def test_thirteen_printed_derivatives_are_wrong(outcome):
    table = outcome.table[outcome.table.metric == "printed_is_right"]
    assert len(table) == 33
    wrong = {}
    for row in table[table.value == 0].itertuples():
        wrong.setdefault(row.method, set()).add(row.variant.removeprefix("point="))
    assert wrong == WRONG


def test_the_example_shows_every_wrong_derivative(outcome):
    table = outcome.table.set_index(["method", "variant", "metric"]).value
    for loss, roles in WRONG.items():
        for role, printed, right in zip(
            ("anchor", "positive", "negative"),
            outcome.arrays[f"printed_{loss}"],
            outcome.arrays[f"autograd_{loss}"],
            strict=True,
        ):
            apart = np.abs(printed - right).max()
            assert apart == table[loss, f"point={role}", "difference_at_example"]
            assert (apart > 0.1) == (role in roles)


@pytest.mark.parametrize(
    ("panel", "options"),
    [
        ("3_4_rho=0.5", {"s": 0, "r": 0, "rho": 0.5}),
        ("3_4_rho=1.71", {"s": 0, "r": 0, "rho": RHO}),
        ("3_6_r=-1", {"s": 0, "r": -1, "rho": RHO}),
        ("3_6_r=3", {"s": 0, "r": 3, "rho": RHO}),
        ("3_7_s=1, r=2", {"s": 1, "r": 2, "rho": RHO}),
    ],
)
def test_arrows_go_against_the_slope(outcome, panel, options):
    places, moves = outcome.arrays[f"arrows_{panel}"].transpose(1, 0, 2)
    expected = -slopes(lambda *x: distance_sensitive(*x, **options), places)
    np.testing.assert_allclose(moves, expected, rtol=1e-5, atol=1e-6)


def places_of(arrays, figure):
    extent, grid = arrays[f"extent_{figure}"], 41
    return np.meshgrid(np.linspace(*extent[:2], grid), np.linspace(*extent[2:], grid))


@pytest.mark.parametrize(
    ("r", "m1", "m2"), [(-1, 2.5, 2), (0, 2.5, 2), (2, -3.5, 20), (3, -3.5, 20)]
)
def test_the_miner_keeps_what_equation_3_20_bounds(outcome, r, m1, m2):
    x, y = places_of(outcome.arrays, "3_5")
    an, pn = np.hypot(x, y), np.hypot(x - 0.5, y)
    with np.errstate(divide="ignore"):
        value = m1 + 0.5 - RHO / (1 - r) * (an ** (1.0 - r) + pn ** (1.0 - r))
    expected = (value > 0) & (value < m2)
    found = outcome.arrays[f"region_3_5_r={r}"]
    assert 20 < expected.sum() < expected.size
    # At the positive itself, or on a bound, rounding decides.
    clear = (np.abs(value) > 1e-6) & (np.abs(value - m2) > 1e-6)
    np.testing.assert_array_equal(found[clear], expected[clear])


def test_ellipses_contain_the_circles_of_the_ranking_loss(outcome):
    regions = {key: region for key, region in outcome.arrays.items() if key.startswith("region_b")}
    x, y = places_of(outcome.arrays, "b_1")
    circles = {"A": np.hypot(x, y) < 1.1, "P": np.hypot(x - 1, y) < 1.1}
    # If a negative is at its anchor, the distance has no slope.
    elsewhere = (np.hypot(x, y) > 1e-6) & (np.hypot(x - 1, y) > 1e-6)
    for name, circle in circles.items():
        found = regions[f"region_b_1_ranking, anchor {name}"]
        np.testing.assert_array_equal(found[elsewhere], circle[elsewhere])
        for m1 in ("4.6381 (printed)", "4.4857 (least)"):
            assert regions[f"region_b_1_m1={m1}"][circle & elsewhere].all()


def test_the_printed_bound_is_enough_but_not_the_least():
    example, least, text = ellipse_bounds(1.0, 0.1, RHO)
    assert f"{example:.4f}" == "4.6381"
    angle = np.linspace(0, 2 * np.pi, 100_001)
    circle = 1.1 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    farthest = (np.hypot(*circle.T) + np.hypot(circle[:, 0] - 1, circle[:, 1])).max()
    # The miner keeps d_an + d_pn < (m1 + d_ap) / rho.
    assert (example + 1) / RHO > farthest
    assert (least + 1) / RHO == pytest.approx(farthest)
    assert (text + 1) / RHO < farthest


def test_ideal_rho_balances_a_batch(outcome):
    """Counts all forces on an image of a batch of 4 classes with 8 images."""
    labels = [c for c in range(4) for _ in range(8)]
    pull = push = 0
    for a in range(32):
        for p in range(32):
            for n in range(32):
                if a != p and labels[a] == labels[p] != labels[n]:
                    pull += (a, p) in ((0, 1), (1, 0))
                    push += {a, n} == {0, 8}
                    push += {p, n} == {0, 8}
    table = outcome.table
    assert table[table.metric == "ideal_rho"].value.item() == pytest.approx(pull / push)


def length(x):
    return x.norm(dim=-1, keepdim=True)


def dot(x, y):
    return (x * y).sum(-1, keepdim=True)


def corrected(a, p, n, *, m=7.0, rho=0.7):
    """The 13 derivatives as docs/forces.md states them: loss -> role -> [T, D]."""
    ap, an = length(a - p), length(a - n)
    w, t, c = torch.sigmoid(ap - an), math.tan(rho) ** 2, 1 - dot(p, a)
    factor = 2 * w**2 * (1 - w)
    return {
        "original_triplet": {
            "anchor": factor * ((a - p) / ap - (a - n) / an),
            "positive": factor * (p - a) / ap,
            "negative": factor * (a - n) / an,
        },
        "ratio": {
            "anchor": (an * (a - p) / ap - (ap + m) * (a - n) / an) / (ap + m) ** 2,
            "positive": an * (p - a) / (ap * (ap + m) ** 2),
        },
        "facenet": {"anchor": 2 * (n - p), "positive": 2 * (p - a), "negative": 2 * (a - n)},
        "n_pair_triplet": {"positive": -torch.sigmoid(dot(a, n) - dot(a, p)) * a},
        "angular_triplet": {"positive": 2 * (p - a) - 2 * t * (a + p - 2 * n)},
        "moving": {
            "anchor": 2 * (n - p) + rho * (p + c * ((a - p) / ap**2 + (a - n) / an**2)) / (ap * an),
            "positive": 2 * (p - a) + rho * (a + c * (p - a) / ap**2) / (ap * an),
            "negative": 2 * (a - n) + rho * c * (n - a) / (ap * an**3),
        },
    }


def test_the_corrected_derivatives_are_right():
    a, p, n = torch.randn(3, 50, 4, generator=torch.Generator().manual_seed(1)).double()
    found = corrected(a, p, n)
    assert {loss: set(roles) for loss, roles in found.items()} == WRONG
    for name, roles in found.items():
        loss = build_loss(name, num_classes=2, embedding_dim=4, **PRINTED[name][1])
        derived = dict(zip(("anchor", "positive", "negative"), forces(loss, a, p, n), strict=True))
        for role, expected in roles.items():
            torch.testing.assert_close(derived[role], expected)
