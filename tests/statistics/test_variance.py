"""Shares of variance: against nested least squares, by their laws, and how sure they are."""

import itertools

import numpy as np
import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.statistics.variance import (
    FIRST,
    REST,
    SECOND,
    TOGETHER,
    shares_of_summaries,
    variance_shares,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats


def frame(cube):
    """The values [A, B, n] as rows."""
    places = itertools.product(*map(range, cube.shape))
    return pd.DataFrame(
        [(f"loss {a}", f"batch {b}", n, cube[a, b, n]) for a, b, n in places],
        columns=["loss", "batch", "seed", "value"],
    ).assign(split="half")


def shares(cube):
    return variance_shares(frame(cube), "loss", "batch")


def residual(values, *columns):
    """Squares that a linear model with these columns of dummies leaves, and its degrees."""
    dummies = [np.ones((len(values), 1))]
    dummies += [pd.get_dummies(column).to_numpy(float) for column in columns]
    design = np.hstack(dummies)
    fitted = design @ np.linalg.lstsq(design, values, rcond=None)[0]
    return ((values - fitted) ** 2).sum(), len(values) - np.linalg.matrix_rank(design)


@pytest.mark.parametrize("shape", [(2, 2, 2), (3, 2, 4), (5, 4, 3)])
def test_shares_and_tests_are_those_of_nested_linear_models(shape):
    cube = np.random.default_rng(0).normal(size=shape) + np.arange(shape[0])[:, None, None]
    rows = frame(cube)
    loss, batch = rows["loss"], rows["batch"]
    values = rows["value"].to_numpy()
    left = [
        residual(values, *columns)
        for columns in ((), (loss,), (loss, batch), (loss, batch, loss + batch))
    ]
    error, free = left[-1]
    found = shares(cube)
    for source, (more, less) in zip(
        (FIRST, SECOND, TOGETHER), itertools.pairwise(left), strict=True
    ):
        squares, degrees = more[0] - less[0], more[1] - less[1]
        omega = (squares - degrees * error / free) / (left[0][0] + error / free)
        assert found[source].share == pytest.approx(max(omega, 0))
        assert found[source].f == pytest.approx(squares / degrees / (error / free))
        assert found[source].p_value == pytest.approx(stats.f.sf(found[source].f, degrees, free))
    if all(found[source].share for source in (FIRST, SECOND, TOGETHER)):
        # The rest is the mean square of the error.
        assert found[REST].deviation ** 2 == pytest.approx(error / free)


def test_one_repetition_cannot_tell_the_rest_from_what_factors_do_together():
    cube = np.random.default_rng(1).normal(size=(4, 3, 1))
    rows = frame(cube)
    values = rows["value"].to_numpy()
    (one, _), (two, free) = residual(values, rows["loss"]), residual(values, rows.loss, rows.batch)
    found = shares(cube)
    assert TOGETHER not in found
    assert found[SECOND].f == pytest.approx((one - two) / 2 / (two / free))


@pytest.mark.slow
@given(
    st.tuples(st.integers(2, 4), st.integers(2, 4), st.integers(2, 4)),
    st.integers(0, 1000),
    st.floats(0.01, 100),
    st.floats(-100, 100),
)
def test_shares_add_up_to_one_whatever_the_unit(shape, seed, factor, shift):
    cube = np.random.default_rng(seed).normal(size=shape)
    found, other = shares(cube), shares(factor * cube + shift)
    assert sum(source.share for source in found.values()) == pytest.approx(1)
    for name, source in found.items():
        assert 0 <= source.share <= 1
        assert other[name].share == pytest.approx(source.share, abs=1e-9)
        assert other[name].deviation == pytest.approx(factor * source.deviation, abs=1e-6)
        if shape[2] > 2:
            assert 0 <= source.low <= source.share <= source.high <= 1


@pytest.mark.slow
def test_the_interval_has_the_true_share_in_nineteen_of_twenty_draws():
    rng = np.random.default_rng(2)
    loss, batch, both = (
        rng.normal(size=(7, 1, 1)),
        rng.normal(size=(1, 6, 1)),
        rng.normal(size=(7, 6, 1)),
    )
    loss, batch = 2 * (loss - loss.mean()) / loss.std(), (batch - batch.mean()) / batch.std()
    both = both - both.mean(0) - both.mean(1, keepdims=True) + both.mean()
    both /= both.std()
    true = {FIRST: 4 / 7, SECOND: 1 / 7, TOGETHER: 1 / 7, REST: 1 / 7}
    inside = dict.fromkeys(true, 0)
    for _ in range(100):
        found = shares(loss + batch + both + rng.normal(size=(7, 6, 3)))
        for source, share in true.items():
            inside[source] += found[source].low <= share <= found[source].high
    # 100 draws of 95 % are 88 or more with probability 0.998.
    assert min(inside.values()) >= 88, inside


def test_means_and_deviations_say_as_much_as_the_values():
    cube = np.random.default_rng(3).normal(size=(3, 4, 5)) + np.arange(3)[:, None, None]
    groups = frame(cube).groupby(["loss", "batch"], sort=False)["value"]
    found = shares_of_summaries(
        groups.agg(value="mean", std="std").reset_index(), "loss", "batch", repetitions=5
    )
    for source, expected in shares(cube).items():
        same = [getattr(expected, part) for part in ("share", "deviation", "f", "p_value")]
        ours = [getattr(found[source], part) for part in ("share", "deviation", "f", "p_value")]
        assert ours == pytest.approx(same, nan_ok=True)
        assert np.isnan(found[source].low)


def test_equal_values_have_no_variance_to_share():
    found = shares(np.ones((2, 3, 3)))
    assert [found[source].share for source in (FIRST, SECOND, TOGETHER)] == [0, 0, 0]
    assert np.isnan(found[FIRST].f)


def test_what_is_missing_or_there_twice_is_named():
    rows = frame(np.zeros((2, 2, 2)))
    with pytest.raises(UserError, match="no score with loss loss 1, batch batch 0, seed 1"):
        variance_shares(rows.drop(index=5), "loss", "batch")
    with pytest.raises(UserError, match="several scores with loss loss 0, batch batch 0, seed 0"):
        variance_shares(pd.concat([rows, rows[:1]]), "loss", "batch")
    with pytest.raises(UserError, match="1 values of loss, 2 of batch; allowed: at least 2"):
        variance_shares(rows[rows.loss == "loss 0"], "loss", "batch")


def test_splits_of_the_classes_are_repetitions_that_share_classes():
    cube = np.random.default_rng(7).normal(size=(3, 2, 5)) + np.arange(3)[:, None, None]
    of_seeds = frame(cube)
    of_splits = of_seeds.assign(split=of_seeds["seed"], seed=0)
    # Two seeds on each split are averaged.
    twice = pd.concat(
        of_splits.assign(seed=seed, value=of_splits["value"] + shift)
        for seed, shift in enumerate((-0.1, 0.1))
    )
    seeds, found = shares(cube), variance_shares(twice, "loss", "batch")
    for source in (FIRST, SECOND, TOGETHER, REST):
        assert found[source].share == pytest.approx(seeds[source].share)
    jackknife = [
        variance_shares(of_seeds[of_seeds["seed"] != out], "loss", "batch")[FIRST].share
        for out in range(5)
    ]
    pseudo = 5 * seeds[FIRST].share - 4 * np.array(jackknife)
    half = stats.t.ppf(0.975, 4) * pseudo.std(ddof=1) * (1 / 5 + 1) ** 0.5
    assert found[FIRST].low == pytest.approx(max(seeds[FIRST].share - half, 0))
    assert found[FIRST].high == pytest.approx(min(seeds[FIRST].share + half, 1))
