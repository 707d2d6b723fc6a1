"""Searches in the values of a tile."""

import numpy as np
import torch
from dmlbench.evaluation import tile_search
from hypothesis import given, settings
from hypothesis import strategies as st


def test_threads_find_and_sort_what_one_does():
    values = torch.randn(1500, 1000, generator=torch.Generator().manual_seed(0))
    floor = values.amax(1, keepdim=True) - 0.5
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        mask = torch.empty(values.numel(), dtype=torch.bool)
        found = tile_search.above(values, floor, mask, values.numel())
        counts = [
            tile_search.count_above(values, floor, mask, by_row=True),
            tile_search.count_above(values, floor[:1000].T, mask, by_row=False),
        ]
        ordered = tile_search.sorted_rows(values.T)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found, (values > floor).flatten().nonzero().flatten())
    assert tile_search.above(values, floor, mask, len(found) - 1) is None
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
    assert tile_search._true(mask).tolist() == np.flatnonzero(mask).tolist()
