"""Frequencies of the drawn negatives against the density."""

import numpy as np
import pytest
import torch
from dmlbench.miners import build_miner
from scipy import stats


def probabilities(distance: np.ndarray, dimension: int, lower: float, upper: float) -> np.ndarray:
    """P(n | a) of roth2020, equation 24, from the density of Wu et al. in double precision."""

    def log_inverse(d):
        return (2 - dimension) * np.log(d) - (dimension - 3) / 2 * np.log(1 - d**2 / 4)

    log_weight = np.minimum(log_inverse(distance), log_inverse(lower))
    weight = np.exp(log_weight - log_weight.max())
    weight[distance > upper] = 0
    return weight / weight.sum()


@pytest.mark.parametrize("dimension", [2, 3, 4, 16])
@pytest.mark.parametrize("upper", [1.4, 2.0])
def test_frequencies_follow_the_density(dimension, upper):
    """One anchor with 40 negatives; 20,000 draws; rejected at p < 1e-4."""
    torch.manual_seed(dimension)
    anchor = torch.nn.functional.normalize(torch.randn(1, dimension, dtype=torch.float64))
    angles = torch.linspace(0.2, 2.9, 40, dtype=torch.float64)
    across = torch.randn(40, dimension, dtype=torch.float64)
    across = torch.nn.functional.normalize(across - (across @ anchor.T) * anchor)
    negatives = angles.cos()[:, None] * anchor + angles.sin()[:, None] * across
    # 100 copies of the anchor are 100 positives of the first, each with a draw of its own.
    embeddings = torch.cat([anchor.expand(101, -1), negatives])
    labels = torch.tensor([0] * 101 + [1] * 40)

    miner = build_miner("distance_weighted", upper_cutoff=upper)
    drawn = []
    for _ in range(200):
        mined = miner(embeddings, labels)
        drawn.append(mined.negative[0][mined.valid[0]] - 101)
    counts = np.bincount(torch.cat(drawn).numpy(), minlength=40)
    assert counts.sum() == 20_000

    distance = (negatives - anchor).norm(dim=1).numpy()
    expected = 20_000 * probabilities(distance, dimension, 0.5, upper)
    assert not counts[expected == 0].any()
    rare = expected < 5
    observed = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 5:
        observed = np.append(observed[:-2], observed[-2:].sum())
        expected = np.append(expected[:-2], expected[-2:].sum())
    assert stats.chisquare(observed, expected).pvalue > 1e-4


@pytest.mark.parametrize("name", ["distance_weighted", "distance_weighted_pairs"])
def test_the_only_negatives_of_a_plane_may_be_opposite(name):
    """There the density is infinite; a tuple still has a negative, of another class."""
    labels = torch.tensor([1, 1, 0, 0])
    for dtype in (torch.float32, torch.float64):
        embeddings = torch.tensor([[-1, 0], [-1, 0], [1, 0], [1, 0]], dtype=dtype)
        torch.manual_seed(0)
        drawn = torch.zeros(4, 4, dtype=torch.int64)
        for _ in range(200):
            mined = build_miner(name, upper_cutoff=2.0)(embeddings, labels)
            if name == "distance_weighted":
                anchor, positive = mined.valid.nonzero(as_tuple=True)
                assert len(anchor) == 4
                drawn[anchor, mined.negative[anchor, positive]] += 1
            else:
                drawn += mined.negative
        assert (drawn.sum(1) == 200).all()
        assert not drawn[labels[:, None] == labels].any()
        assert stats.chisquare(drawn[0, 2:].numpy()).pvalue > 1e-4


@pytest.mark.parametrize(
    ("name", "candidates"),
    [("random", range(4, 10)), ("semi_hard_random", range(6, 10)), ("soft_hard", range(4, 8))],
)
def test_uniform_draws_are_uniform(name, candidates):
    """Anchor 0 on a line: three positives at 3.2, six negatives on either side of them."""
    line = torch.tensor([0, 3.2, 3.2, 3.2, 2, 2.5, 3.21, 3.21, 4, 5], dtype=torch.float64)
    labels = torch.tensor([0, 0, 0, 0] + [1] * 6)
    if name == "soft_hard":
        line[6:8] = torch.tensor([3.0, 3.1])
    torch.manual_seed(0)
    miner = build_miner(name)
    counts = np.zeros(10)
    for _ in range(3000):
        mined = miner(line[:, None], labels)
        counts[int(mined.negative[0][mined.valid[0]])] += 1
    assert counts.sum() == 3000
    assert set(np.flatnonzero(counts)) == set(candidates)
    assert stats.chisquare(counts[list(candidates)]).pvalue > 1e-4


def test_the_positive_is_drawn_uniformly():
    labels = torch.tensor([0, 0, 0, 0, 1])
    torch.manual_seed(0)
    miner = build_miner("random")
    counts = sum(miner(torch.zeros(5, 2), labels).valid[0].long() for _ in range(3000))
    assert counts.sum() == 3000
    assert stats.chisquare(counts[1:4].numpy()).pvalue > 1e-4
