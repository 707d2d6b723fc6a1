"""The spread of methods, seed by seed, against NumPy and scipy."""

import numpy as np
import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.statistics.spread import spread_of_methods
from long_tables import long_table
from scipy import stats


def test_the_spread_is_of_the_same_methods_in_every_seed():
    first = long_table({("a", ""): [0.1], ("b", ""): [0.2]})
    other = long_table({("a", ""): [0.1], ("c", ""): [0.9]}).assign(seed=1)
    with pytest.raises(UserError, match="2, 3 methods per seed; allowed: the same methods"):
        spread_of_methods(pd.concat([first, other]))


def test_the_spread_is_that_of_the_methods_of_one_seed():
    (found,) = spread_of_methods(
        long_table({("a", "x"): [0.1, 0.2], ("b", "x"): [0.3, 0.6]})
    ).itertuples()
    of_seeds = [np.std([0.1, 0.3], ddof=1), np.std([0.2, 0.6], ddof=1)]
    assert found.spread == pytest.approx(np.mean(of_seeds))
    half = stats.t.ppf(0.975, 1) * np.std(of_seeds, ddof=1) / np.sqrt(2)
    assert found.high - found.low == pytest.approx(2 * half)
    assert (found.methods, found.repeats, found.unit) == (2, 2, "seed")


def test_methods_that_lack_a_seed_are_an_error():
    with pytest.raises(UserError, match="1, 2 methods per seed"):
        spread_of_methods(long_table({("a", ""): [0.1, 0.2], ("b", ""): [0.3]}))
