"""Spaces to rank, and their ranks by sorting in exact integers."""

import brute_force
import numpy as np
from dmlbench.evaluation import products, walk
from dmlbench.evaluation.inputs import read_space
from dmlbench.evaluation.ranks import find_ranks
from hypothesis import strategies as st

PRECISIONS = ["int8", "bfloat16", "float32", "float64"]


def find(
    x, y, *, precision="auto", memory=2**15, metrics=brute_force.METRICS, device="cpu", **given_
):
    space = read_space(x, y, **given_)
    return find_ranks(space, metrics, memory=memory, precision=precision, device=device)


def expected_ranks(*arguments, **keywords):
    found = list(brute_force.neighbors(*arguments, **keywords))
    rows = [row for row, _, _ in found]
    return rows, np.concatenate([np.flatnonzero(hits) + 1 for _, _, hits in found])


spaces = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "points": st.integers(4, 60),
        "classes": st.integers(1, 20),
        "dim": st.integers(1, 12),
        # Whole numbers from a narrow range give many exact ties.
        "values": st.sampled_from(["normal", "ties", "collapsed", "close"]),
        "distance": st.sampled_from(["cosine", "euclidean"]),
    }
)


def make_tiles_small(monkeypatch):
    """Many tiles of few rows, so that small data cross their borders."""
    monkeypatch.setattr(walk, "_NARROWEST", 8)
    monkeypatch.setattr(products, "_LEAST_HALF", 2)


def draw(rng, points, dim, values):
    if values == "ties":
        return rng.integers(-2, 3, (points, dim)).astype(np.float32)
    if values == "collapsed":
        return np.ones((points, dim), np.float32)
    noise = rng.normal(size=(points, dim)).astype(np.float32)
    return 1 + 2e-6 * noise if values == "close" else noise
