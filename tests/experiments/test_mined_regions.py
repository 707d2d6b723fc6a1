"""Regions of miners by their inequalities, in plain numbers."""

import math

import numpy as np
import pytest
from dmlbench.experiments import build_experiment

GRID = 30


@pytest.fixture(scope="module")
def outcome():
    return build_experiment("mined_regions", margin=0.2, grid=GRID).run(0)


def places(arrays, figure):
    extent = arrays[f"extent_{figure}"]
    return np.meshgrid(np.linspace(*extent[:2], GRID), np.linspace(*extent[2:], GRID))


@pytest.mark.parametrize(("figure", "sign"), [("2_5_a_negatives", 1), ("2_5_b_positives", -1)])
def test_easy_semi_hard_and_hard(outcome, figure, sign):
    """The fixed point is 0.5 from the anchor, and the margin 0.2."""
    further = sign * (np.hypot(*places(outcome.arrays, figure[:5])) - 0.5)
    bounds = np.select([further > 0.2, further > 0, further > -0.2], [0, 1, 2], 3)
    assert np.array_equal(outcome.arrays[f"region_{figure}"], bounds)


def test_panel_d_counts_two_circles_and_an_ellipse(outcome):
    x, y = places(outcome.arrays, "b_1_d")
    an, pn = np.hypot(x, y), np.hypot(x - 1, y)
    ellipse = 12 / 7 * (an + pn) < 4.6381 + 1
    expected = (an < 1.1).astype(int) + (pn < 1.1) + ellipse
    assert np.array_equal(outcome.arrays["region_b_1_d_overlap"], expected)


def test_what_the_settings_of_table_3_4_keep(outcome):
    found = outcome.table.set_index("metric")["value"]
    axis = np.linspace(-0.7, 0.7, GRID)
    an, pn = np.hypot(*np.meshgrid(axis, axis)), np.hypot(*np.meshgrid(axis - 0.5, axis))
    ranking = an < 0.6
    rows = [(m_1, m_2) for m_1 in (-2, -2.25, -2.5, -3) for m_2 in (5, 10)]
    for row, (m_1, m_2) in enumerate(rows, start=1):
        value = (m_1 + 0.125 + 1 / an + 1 / pn)[ranking]
        assert found[f"row_{row}_kept"] == ((value > 0) & (value < m_2)).mean()
        assert found[f"row_{row}_kept_without_m_2"] == (value > 0).mean()
    # A negative opposite to the positive, on the edge of the ranking loss's region.
    assert found["least_m_1"] == pytest.approx(-0.125 - 1 / 0.6 - 1 / 1.1)
    assert math.isclose(found["ranking_acts_in_1"], 0)
    assert all(found[f"ranking_acts_in_{region}"] == 1 for region in (2, 3, 4))
