"""Our miners draw what those of the authors' public code draw."""

import numpy as np
import pytest
import torch
from author_batches import (
    DIMENSIONS,
    DRAWS,
    RECORDED,
    Fixed,
    mined_batches,
    wide_batch,
)
from author_specs import MINERS, SWITCHED, rows_with
from dmlbench import registry
from dmlbench.miners import build_miner
from dmlbench.miners.distance_weighted import log_density
from dmlbench.tuples import Pairs


@pytest.mark.parametrize("entry", MINERS)
def test_the_miners_are_those_of_the_code_variants(loaded, entry):
    assert any("code" in row.variant for row in rows_with(loaded, entry))


@pytest.mark.parametrize("entry", MINERS)
def test_a_miner_draws_what_the_authors_code_draws(entry):
    name, options = MINERS[entry]
    miner = build_miner(name, **options)
    if switched := SWITCHED.get(entry):
        regularizer = registry.build("regularizers", context={}, **switched)
        miner = lambda x, labels, drawn=miner: regularizer(drawn(x, labels))  # noqa: E731
    torch.manual_seed(0)
    for batch, theirs in RECORDED[entry]["batches"].items():
        fixed = {"wide": wide_batch(), **mined_batches()}[batch]
        ours = counts(miner, fixed, repetitions := DRAWS // 10)
        compared = ~nearly_opposite(fixed) if name == "distance_weighted" else slice(None)
        for kind, found in zip(("positive", "negative"), ours[:, compared], strict=True):
            expected = np.array(theirs[kind])[compared] / DRAWS
            each = expected.sum(1).max()
            found = found / repetitions
            assert not found[expected == 0].any(), batch
            np.testing.assert_allclose(found, expected, atol=0.12 * each**0.5, err_msg=batch)
            # The sum over a row of the squared differences has a smaller spread.
            assert np.square(found - expected).sum(1).mean() < 2 * each / repetitions, batch


def nearly_opposite(batch: Fixed):
    """Anchors with a negative so far that its weight in the code exceeds that at the cutoff."""
    distance = torch.cdist(batch.x, batch.x)
    weight, largest = (
        -log_density(distance, DIMENSIONS),
        -log_density(torch.tensor(0.5), DIMENSIONS),
    )
    found = ((weight > largest) & (distance > 1.5)).any(1).numpy()
    assert found.sum() <= 4, "too few anchors are left"
    return found


def counts(miner, batch: Fixed, repetitions: int):
    """How often each positive and negative of an anchor is drawn: [B, B] each."""
    size = len(batch.x)
    found = np.zeros((2, size, size))
    for _ in range(repetitions):
        mined = miner(batch.x.float(), batch.labels)
        if isinstance(mined, Pairs):
            found += np.stack([pairs.numpy() for pairs in mined])
        else:
            anchors, positives = np.nonzero(mined.valid.numpy())
            np.add.at(found[0], (anchors, positives), 1)
            np.add.at(found[1], (anchors, mined.negative.numpy()[anchors, positives]), 1)
    return found


def test_weights_of_the_library_underflow_where_ours_do_not():
    """512 dimensions: every anchor of the code draws uniformly, near and far."""
    theirs = np.array(RECORDED["psomas2020/miner distance"]["batches"]["wide"]["negative"])
    labels = wide_batch().labels.numpy()
    drawn = theirs[labels[:, None] != labels] / DRAWS
    np.testing.assert_allclose(drawn, 3 / 8, atol=0.05)
