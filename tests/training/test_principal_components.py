"""A head of principal components, against a singular value decomposition by NumPy."""

import numpy as np
import pytest
import torch
from dmlbench.errors import UserError
from dmlbench.plan.catalogs.places import merged
from dmlbench.plan.specs.spec import Spec
from dmlbench.training.data import read_roles
from dmlbench.training.embedding import embed_images
from dmlbench.training.principal_components import principal_components
from hypothesis import given
from hypothesis import strategies as st
from toy_training import VALUES, equal, train, trainer

PCA = {
    "loss": None,
    "epochs": 0,
    "embedding_dim": 5,
    "selection": "last_epoch",
    "head_initialization": "principal_components",
}


@given(seed=st.integers(0, 99), features=st.integers(2, 6))
def test_components_are_those_of_a_singular_value_decomposition(seed, features):
    draws = np.random.default_rng(seed)
    points = draws.normal(size=(40, features)) * 2.0 ** np.arange(features) + 3
    components, mean = principal_components(torch.from_numpy(points))
    np.testing.assert_allclose(mean, points.mean(0))
    _, _, expected = np.linalg.svd(points - points.mean(0))
    products = np.abs(np.sum(components.numpy() * expected, axis=1))
    np.testing.assert_allclose(products, 1, atol=1e-6)
    assert (components.max(1).values >= -components.min(1).values).all()


def test_training_images_are_uncorrelated_and_centered(toy_data):
    changes = PCA | {"normalize": False}
    made, spec = trainer(toy_data, changes), Spec.model_validate(merged(VALUES, changes))
    inputs = made.batches.inputs
    projected = embed_images(spec, made.network, inputs.feed, inputs.ids).double()
    np.testing.assert_allclose(projected.mean(0), 0, atol=1e-5)
    covariance = projected.T @ projected
    variances = covariance.diag()
    assert (variances[:-1] >= variances[1:]).all()
    off_diagonal = covariance - variances.diag()
    assert off_diagonal.abs().max() < 1e-4 * variances.max()


def test_standardized_components_are_those_of_the_test_images(toy_data):
    """As musgrave2020's code: each feature standardized, then the components of what is scored."""
    raw = PCA | {"normalize": False}
    untouched = trainer(toy_data, raw | {"head_initialization": "torch_default"})
    made = trainer(toy_data, raw | {"head_initialization": "standardized_components"})
    spec = Spec.model_validate(merged(VALUES, raw))
    feed = made.batches.inputs.feed
    ids = read_roles(toy_data.index, toy_data.split, None)["test"].ids
    untouched.network.head = torch.nn.Identity()
    features = embed_images(spec, untouched.network, feed, ids).double().numpy()
    features = (features - features.mean(0)) / features.std(0)
    _, _, directions = np.linalg.svd(features)
    expected = features @ directions[:5].T
    found = embed_images(spec, made.network, feed, ids).double().numpy()
    signs = np.sign(np.sum(expected * found, axis=0))
    np.testing.assert_allclose(found, expected * signs, atol=1e-4)


def test_equal_seeds_give_equal_heads(toy_data, tmp_path):
    one, other = (train(tmp_path / name, toy_data, PCA) for name in "ab")
    assert equal(one, other)


def test_more_dimensions_than_features_are_refused(toy_data):
    with pytest.raises(UserError, match=r"embedding_dim 9: .* 8 principal components; allowed: 8"):
        trainer(toy_data, PCA | {"embedding_dim": 9})
