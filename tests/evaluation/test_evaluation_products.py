"""Products of tiles, and searches in them."""

import numpy as np
import pytest
import torch
from dmlbench.evaluation import products
from dmlbench.evaluation.inputs import read_space
from hypothesis import given, settings
from hypothesis import strategies as st


def test_threads_find_and_sort_what_one_does():
    values = torch.randn(1500, 1000, generator=torch.Generator().manual_seed(0))
    floor = values.amax(1, keepdim=True) - 0.5
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        mask = torch.empty(values.numel(), dtype=torch.bool)
        found = products.above(values, floor, mask, values.numel())
        counts = [
            products.count_above(values, floor, mask, by_row=True),
            products.count_above(values, floor[:1000].T, mask, by_row=False),
        ]
        ordered = products.sorted_rows(values.T)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found, (values > floor).flatten().nonzero().flatten())
    assert products.above(values, floor, mask, len(found) - 1) is None
    assert torch.equal(counts[0], (values > floor).sum(1))
    assert torch.equal(counts[1], (values > floor[:1000].T).sum(0))
    assert torch.equal(ordered, values.T.sort(dim=1).values)


@settings(deadline=None)
@given(
    mask=st.lists(st.booleans(), max_size=40).map(lambda values: np.array(values, bool)),
    skipped=st.integers(0, 7),
)
def test_true_values_are_found_eight_at_a_time(mask, skipped):
    mask = mask[skipped:]
    assert products._true(mask).tolist() == np.flatnonzero(mask).tolist()


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
