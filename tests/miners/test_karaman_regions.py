"""karaman_region against the definition of each region, negative by negative."""

from collections import Counter

import pytest
import torch
from dmlbench.errors import UserError
from dmlbench.miners import build_miner
from dmlbench.miners._geometry import squared_distances
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare


def region(ap, an, margin):
    """The region of figure 2.5 that contains a negative at distance an."""
    if an >= ap + margin:
        return 1
    if an > ap:
        return 2
    return 3 if an > ap - margin else 4


def candidates(x, labels, regions, margin):
    """{(anchor, positive): its negatives in the regions}, by looking at every triplet."""
    d, found = squared_distances(x, centered=True).sqrt().tolist(), {}
    margin_of = torch.tensor(margin, dtype=x.dtype).item()
    for a, label in enumerate(labels):
        for p in range(len(labels)):
            if p != a and labels[p] == label:
                found[a, p] = {
                    n
                    for n in range(len(labels))
                    if labels[n] != label and region(d[a][p], d[a][n], margin_of) in regions
                }
    return found


@settings(deadline=None, max_examples=60)
@given(
    labels=st.lists(st.integers(0, 3), min_size=1, max_size=14),
    regions=st.lists(st.integers(1, 4), min_size=1, max_size=4, unique=True),
    margin=st.floats(0.01, 2),
    seed=st.integers(0, 1000),
    coarse=st.booleans(),
)
def test_every_triplet_is_in_its_region_and_no_pair_is_missed(
    labels, regions, margin, seed, coarse
):
    torch.manual_seed(seed)
    x = torch.randn(len(labels), 3, dtype=torch.float64)
    if coarse:  # many equal distances
        x, margin = x.round(), 1.0
    mined = build_miner("karaman_region", regions=regions, margin=margin)(x, torch.tensor(labels))
    expected = candidates(x, labels, regions, margin)
    found = {(a, p) for a, p in mined.valid.nonzero().tolist()}
    assert found == {pair for pair, negatives in expected.items() if negatives}
    for a, p in found:
        assert int(mined.negative[a, p]) in expected[a, p]


def test_the_four_regions_share_out_all_valid_triplets():
    torch.manual_seed(0)
    labels = torch.arange(4).repeat_interleave(8)
    x = torch.nn.functional.normalize(torch.randn(32, 4), dim=1)
    parts = [candidates(x, labels.tolist(), [region], 0.2) for region in (1, 2, 3, 4)]
    assert all(any(part.values()) for part in parts)
    for pair in parts[0]:
        assert sum(len(part[pair]) for part in parts) == 24


@pytest.mark.parametrize("regions", [[2], [1, 3], [2, 3, 4]])
def test_negatives_of_a_region_are_equally_likely(regions):
    torch.manual_seed(1)
    labels = torch.tensor([0, 0] + [1] * 20)
    x = torch.randn(22, 2)
    x[1] = x[0] + 0.8
    miner = build_miner("karaman_region", regions=regions, margin=0.5)
    drawn = Counter(int(miner(x, labels).negative[0, 1]) for _ in range(3000))
    allowed = candidates(x, labels.tolist(), regions, 0.5)[0, 1]
    assert len(allowed) > 1
    assert set(drawn) == allowed
    assert chisquare([drawn[n] for n in allowed]).pvalue > 1e-3


def test_draws_repeat_with_the_seed_and_carry_no_gradient():
    labels = torch.arange(4).repeat_interleave(8)
    x = torch.randn(32, 4, requires_grad=True)
    miner = build_miner("karaman_region", regions=(1, 2, 3, 4))
    mined = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        mined.append(miner(x, labels).negative)
    assert not mined[0].requires_grad
    assert (mined[0] == mined[1]).all()
    assert (mined[0] != mined[2]).any()


@pytest.mark.parametrize("labels", [[0, 1, 2], [5, 5, 5], [2]])
def test_a_batch_without_triplets_gives_none(labels):
    x = torch.randn(len(labels), 3)
    mined = build_miner("karaman_region", regions=[1, 2, 3, 4])(x, torch.tensor(labels))
    assert not mined.valid.any()
    assert mined.negative.shape == (len(labels), len(labels))


@pytest.mark.parametrize(
    "bad",
    [{"regions": []}, {"regions": [0]}, {"regions": "semi-hard"}, {"margin": 0}, {"margin": "0.2"}],
)
def test_a_bad_value_is_named(bad):
    (parameter,) = bad
    with pytest.raises(UserError, match=rf"^miners/karaman_region: {parameter} is .*; allowed: "):
        build_miner("karaman_region", **bad)
