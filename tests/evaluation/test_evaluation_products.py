"""Products of tiles."""

import numpy as np
import pytest
import torch
from dmlbench.evaluation import products
from dmlbench.evaluation.inputs import read_space
from hypothesis import example, given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8])
@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), dim=st.integers(1, 300))
@example(seed=231313, dim=1)  # the Euclidean term in bfloat16, rounded twice more
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


@pytest.mark.parametrize("rows", [1, 2, 7, 64, 100])
def test_a_square_copies_below_the_diagonal_what_is_above(rows, monkeypatch):
    monkeypatch.setattr(products, "_LEAST_HALF", 2)
    # Small whole numbers, whose products float32 holds.
    x = torch.randint(-9, 10, (rows, 5), generator=torch.Generator().manual_seed(0)).float()
    out = torch.full((rows, rows), torch.nan)
    products._square(x, out)
    assert torch.equal(out, x @ x.T)


def test_tiles_of_other_queries_are_not_squares(monkeypatch):
    """Queries of their own, as many as the gallery has images: equal slices are no square."""
    monkeypatch.setattr(products, "_LEAST_HALF", 2)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 20, 4))
    space = read_space(x, np.arange(20), gallery=y, gallery_labels=np.arange(20) + 20)
    everything = slice(0, 20)
    made = products.Products(products.as_tensors(space, "cpu"), 400)
    tile = made.tile(torch.float32, everything, everything)
    exact = made.tile(torch.float64, everything, everything).values
    assert (tile.values.double() - exact).abs().max() <= tile.error
