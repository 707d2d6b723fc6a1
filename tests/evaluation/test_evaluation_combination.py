"""Embeddings of several models of the same images, as one and each alone."""

import numpy as np
import pytest
import torch
from dmlbench.errors import UserError
from dmlbench.evaluation import concatenate, score, score_separated

rng = np.random.default_rng(0)
LABELS = np.repeat(np.arange(20), 6)
PARTS = [rng.normal(size=(20, dim))[LABELS] + rng.normal(size=(120, dim)) for dim in (6, 9)]


def test_concatenation_averages_similarities():
    x, z = PARTS
    joined = concatenate([x, z])
    unit = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in (x, z)]
    expected = (unit[0] @ unit[0].T + unit[1] @ unit[1].T) / 2
    np.testing.assert_allclose(joined @ joined.T, expected, atol=1e-6)
    assert isinstance(concatenate([torch.tensor(x)]), torch.Tensor)
    with pytest.raises(UserError, match="model 1: 3 rows"):
        concatenate([x, z[:3]])


def test_separated_scores_are_the_mean_over_models():
    each = [score(part, LABELS, metrics=["map_at_r"])["map_at_r"] for part in PARTS]
    assert score_separated(PARTS, LABELS, metrics=["map_at_r"])["map_at_r"] == pytest.approx(
        np.mean(each)
    )
