"""Shares of nearest drawings of the same thing and by the same set."""

import numpy as np
import pandas as pd
import pytest
from dmlbench.data.embeddings import Embedded
from drawings import ranked, shares_of


def test_nearest_drawings_are_the_same_thing_or_by_the_same_set_or_neither():
    # Two things by sets a and b, and one by b and c; the ids are not the rows.
    angles = np.deg2rad([0, 40, 10, 100, 190, 220])
    images = Embedded(
        np.array([9, 8, 7, 6, 5, 4]),
        np.array([0, 0, 1, 1, 2, 2]),
        np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32),
    )
    index = pd.DataFrame({"designer": ["a", "b", "a", "b", "b", "c"]}, index=images.image_ids)
    assert ranked(images, 1)[:, 0].tolist() == [2, 2, 0, 1, 5, 4]
    shares = shares_of(images, index)
    assert shares["same thing"] == pytest.approx(2 / 6)
    assert shares["another, same set"] == pytest.approx(3 / 6)
    assert shares["another, another set"] == pytest.approx(1 / 6)
    assert shares["same set, of others"] == pytest.approx(3 / 4)
    # Of four other things, one is by set a, two are by b, none by c.
    assert shares["by chance"] == pytest.approx((2 * 1 + 3 * 2 + 0) / 4 / 6)
