"""Products of tiles."""

import numpy as np
import pytest
import torch
from dmlbench.evaluation import products
from dmlbench.evaluation.inputs import read_space
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8])
@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), dim=st.integers(1, 300))
def test_products_err_by_no_more_than_they_say(dtype, seed, dim):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(40, dim)) * np.exp(3 * rng.normal(size=(40, dim)))
    x[20:] = x[:20] + 1e-3 * rng.normal(size=(20, dim))
    for distance in ("cosine", "euclidean"):
        space = read_space(x, np.arange(40), distance=distance)
        made = products.Products(products.as_tensors(space, "cpu"), 1600)
        everything = slice(0, 40)
        exact = made.tile(torch.float64, everything, everything).values
        tile = made.tile(dtype, everything, everything)
        others = ~torch.eye(40, dtype=torch.bool)
        assert (tile.values.double() * tile.unit - exact)[others].abs().max() <= tile.error
        row, column = others.nonzero(as_tuple=True)
        close, error = made.closely(row, column)
        assert (close - exact[others]).abs().max() <= error
