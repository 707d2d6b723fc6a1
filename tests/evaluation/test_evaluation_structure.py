"""Structure of an embedding space, spelled out and in cases known by hand."""

import itertools

import numpy as np
import pytest
from dmlbench.evaluation import evaluate
from dmlbench.evaluation.structure import (
    class_spectrum,
    cosine_spread,
    euclidean_spread,
    singular_values,
    spectral_decay,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 5))
def test_euclidean_distances_are_means_over_pairs(seed, classes, dim):
    rng = np.random.default_rng(seed)
    y = np.sort(np.concatenate([np.arange(classes), rng.integers(0, classes, 12)]))
    x = rng.normal(size=(len(y), dim))
    found = euclidean_spread(x, y)
    pairs = itertools.combinations(range(len(y)), 2)
    intra = [np.linalg.norm(x[i] - x[j]) for i, j in pairs if y[i] == y[j]]
    centers = [x[y == c].mean(0) for c in range(classes)]
    inter = [np.linalg.norm(a - b) for a, b in itertools.combinations(centers, 2)]
    assert found.intra == pytest.approx(np.mean(intra), rel=1e-12)
    assert found.inter == pytest.approx(np.mean(inter), rel=1e-12)
    assert found.ratio == pytest.approx(np.mean(intra) / np.mean(inter), rel=1e-12)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(2, 5))
def test_cosine_distances_are_averaged_per_class_first(seed, classes, dim):
    rng = np.random.default_rng(seed)
    y = np.sort(np.concatenate([np.arange(classes), rng.integers(0, classes, 12)]))
    x = rng.normal(size=(len(y), dim))
    found = cosine_spread(x, y)
    members = [x[y == c] for c in range(classes)]
    within = [pdist(rows, "cosine").mean() for rows in members if len(rows) > 1]
    between = pdist(np.stack([rows.mean(0) for rows in members]), "cosine").mean()
    assert found.intra == pytest.approx(np.mean(within), rel=1e-9)
    assert found.inter == pytest.approx(between, rel=1e-9)
    assert found.ratio == pytest.approx(np.mean(within) / between, rel=1e-9)


@pytest.mark.parametrize("shape", [(50, 6), (6, 50), (9, 9)])
def test_singular_values_are_numpys(shape):
    x = np.random.default_rng(0).normal(size=shape)
    expected = np.linalg.svd(x, compute_uv=False)
    np.testing.assert_allclose(singular_values(x), expected, rtol=1e-6)


def test_class_spectrum_is_the_mean_of_normalized_spectra():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 4)), np.sort(np.arange(20) % 3)
    spectra = [np.linalg.svd(x[y == c], compute_uv=False) for c in range(3)]
    expected = np.mean([s / s.sum() for s in spectra], axis=0)
    found = class_spectrum(x, y)
    np.testing.assert_allclose(found, expected)


def test_spectral_decay_is_a_divergence_from_flat_without_the_largest_value():
    assert spectral_decay(np.array([100.0, 2, 2, 2])) == pytest.approx(0)
    rest = np.array([4.0, 2, 1]) / 7
    expected = np.mean(np.log((1 / 3) / rest))
    assert spectral_decay(np.array([9.0, 4, 2, 1])) == pytest.approx(expected)
    assert spectral_decay(np.array([9.0, 4, 0])) == np.inf
    assert np.isnan(spectral_decay(np.array([9.0])))


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6))
def test_decay_is_not_negative_and_blind_to_scale_and_rotation(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(40, 5)) * rng.uniform(0.1, 3, 5)
    turn, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    rho = [spectral_decay(singular_values(a)) for a in (x, 7 * x @ turn)]
    assert rho[0] >= 0
    assert rho[0] == pytest.approx(rho[1])


def test_compression_raises_rho_and_lowers_density():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 10
    x = rng.normal(size=(10, 8))[y] + 0.3 * rng.normal(size=(200, 8))
    flat = x.copy()
    flat[:, 4:] *= 0.05
    tight = rng.normal(size=(10, 8))[y] + 0.1 * rng.normal(size=(200, 8))
    names = ["rho", "pi_ratio"]
    plain, compressed, dense = (evaluate(a, y, metrics=names).scores for a in (x, flat, tight))
    assert compressed["rho"] > plain["rho"]
    assert dense["pi_ratio"] < plain["pi_ratio"]
