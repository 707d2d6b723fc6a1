"""Table and figure of methods along an axis of variants: they show the scores."""

import numpy as np
import pandas as pd
import pytest
from dmlbench.errors import UserError
from kinds import build

TITLES = {"profs": "PROFS", "plain": "Plain"}
VALUES = {"plain": {0: 0.9, 5: 0.2, 10: 0.1}, "profs": {0: 0.9, 5: 0.3, 10: 0.05}}


@pytest.fixture
def scores():
    """Shares of violated constraints of two seeds, 0.02 apart, at three projections."""
    rows = [
        {"method": method, "variant": f"projection={k}", "seed": seed, "value": value + seed / 50}
        for method, values in VALUES.items()
        for k, value in values.items()
        for seed in (0, 1)
    ]
    return pd.DataFrame(rows).assign(
        dataset="", metric="violated_constraints", role="train", selection="none"
    )


def built(package, kind, **options):
    return build(package, kind, **({"axis": "projection", "role": "train"} | options))


def table(values, **options):
    metric = {"metric": "violated_constraints"}
    return built("tables", "means_by_axis", values=values, **metric, **options)


def figure(**options):
    return built("figures", "scores_by_axis", metrics=["violated_constraints"], **options)


def test_cells_are_means_in_percent_and_the_lower_is_better(scores):
    made = table([0, 10])(scores, TITLES)
    assert made.to_csv() == (
        "Method,projection_0,projection_0_std,projection_10,projection_10_std\n"
        "Plain,91.00,1.41,11.00,1.41\n"
        "PROFS,91.00,1.41,6.00,1.41\n"
    )
    assert [mark for _, mark in made.texts()[1]] == ["", "best"]
    assert "violated constraints in percent" in made.caption.lower()
    assert "2 seeds" in made.caption


def test_one_seed_has_no_deviation(scores):
    made = table([5])(scores[scores.seed == 0], TITLES)
    assert [text for text, _ in made.texts()[0]] == ["20.00"]
    assert "deviation" not in made.caption


def test_a_number_without_scores_is_an_error(scores):
    with pytest.raises(UserError, match="no scores of violated_constraints at projection=7"):
        table([0, 7])(scores, TITLES)
    with pytest.raises(UserError, match="with role test have a variant projection=<number>"):
        table([0], role="test")(scores, TITLES)
    with pytest.raises(UserError, match="several scores at projection=0; allowed: one"):
        table([0])(pd.concat([scores, scores]), TITLES)


def test_each_method_is_a_line_with_its_interval(scores):
    made = figure(log="y")(scores.sample(frac=1, random_state=0), TITLES)
    (axes,) = made.axes
    drawn = {line.get_label(): line for line in axes.lines}
    assert set(drawn) == {"Plain", "PROFS"}
    assert len({line.get_color() for line in axes.lines}) == 2
    for method, values in VALUES.items():
        line = drawn[TITLES[method]]
        np.testing.assert_allclose(line.get_xdata(), [0, 5, 10])
        np.testing.assert_allclose(line.get_ydata(), [100 * v + 1 for v in values.values()])
    # Two values 2 points apart: 12.706 standard errors of 1 to each side.
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert np.ptp(band[np.isclose(axes.collections[0].get_paths()[0].vertices[:, 0], 5)]) == (
        pytest.approx(2 * 12.706, rel=1e-3)
    )
    assert axes.get_yscale() == "log"
    assert axes.get_ylabel() == "violated constraints (%)"


def test_one_seed_has_a_line_without_a_band(scores):
    made = figure()(scores[scores.seed == 1], TITLES)
    assert len(made.axes[0].lines) == 2
    assert len(made.axes[0].collections) == 0
