"""Views of measures and changes: paired differences, correlations, scatter plots."""

import itertools

import matplotlib as mpl
import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.presentation import style
from kinds import build

BASE = {
    "dataset": "glyphs",
    "network": "convnet",
    "embedding_dim": 8,
    "recipe": "short",
    "split": "half",
    "fold": "",
    "selection": "last_epoch",
}


def view(package, kind, **options):
    return build(package, kind, **({"methods": ["triplet", "margin"]} | options))


@pytest.fixture
def long_table(synthetic_scores):
    """A long table of (method, variant, seed, role, metric, value)."""
    columns = list(synthetic_scores().columns)

    def make(cells):
        rows = [
            BASE
            | dict(zip(("method", "variant", "seed", "role", "metric", "value"), c, strict=True))
            for c in cells
        ]
        return pd.DataFrame(rows, columns=columns)

    return make


@pytest.fixture
def regularized(long_table):
    """Two losses, two seeds: the regularizer gives triplet 2 and 4 points, margin -1 and -1."""
    plain = {("triplet", 0): 0.50, ("triplet", 1): 0.60, ("margin", 0): 0.70, ("margin", 1): 0.72}
    gains = {("triplet", 0): 0.02, ("triplet", 1): 0.04, ("margin", 0): -0.01, ("margin", 1): -0.01}
    cells = []
    for (method, seed), value in plain.items():
        gain = gains[method, seed]
        cells += [
            (method, "miner=D", seed, "test", "recall_at_1", value),
            (method, "miner=D,regularizer=rho", seed, "test", "recall_at_1", value + gain),
            (method, "miner=D", seed, "train", "rho", 0.4),
            (method, "miner=D,regularizer=rho", seed, "train", "rho", 0.4 - 10 * gain),
        ]
    return long_table(cells)


def differences(scores, titles, **options):
    given = {"change": ["regularizer"], "metrics": ["recall_at_1"]} | options
    return view("tables", "paired_differences", **given)(scores, titles)


def test_a_change_is_compared_with_the_same_without_it(regularized, titles):
    table = differences(regularized, titles)
    rows = {row.label: [cell.value for cell in row.cells[:5]] for row in table.rows}
    assert list(rows) == [
        "Triplet, miner=D, regularizer=rho",
        "margin, miner=D, regularizer=rho",
        "All losses, miner=D, regularizer=rho",
    ]
    triplet, margin, together = rows.values()
    # Student's t of 0.975 with 1 degree of freedom is 12.706; deviation sqrt(2), error 1.
    assert triplet == pytest.approx([55, 58, 3, 3 - 12.706, 3 + 12.706], abs=1e-3)
    assert margin == pytest.approx([71, 70, -1, -1, -1])
    assert together[2] == pytest.approx(1)
    assert "Scores of the last epoch." in table.caption


def test_results_of_experiments_are_paired_too(regularized, titles):
    """A view of experiments alone has no methods of the study."""
    table = differences(regularized, titles, methods=[])
    found = {row.label: row.cells[2].value for row in table.rows}
    assert found["Triplet, miner=D, regularizer=rho"] == pytest.approx(3)
    assert found["margin, miner=D, regularizer=rho"] == pytest.approx(-1)


def test_measures_of_structure_are_no_percent(regularized, titles):
    first = differences(regularized, titles, metrics=["rho"], role="train").rows[0].cells
    assert [cell.value for cell in first[:3]] == pytest.approx([0.4, 0.1, -0.3])


def test_a_metric_without_scores_is_one_line(regularized, titles):
    with pytest.raises(UserError, match="no test scores of nmi at last_epoch"):
        differences(regularized, titles, metrics=["nmi"])


@pytest.fixture
def measured(long_table):
    """Four methods whose R@1 is 0.9 - rho, and 0.01 off in opposite directions for two seeds."""
    cells = []
    for place, method in enumerate(("contrastive", "triplet", "margin", "histogram")):
        for seed, off in ((0, 0.01), (1, -0.01)):
            rho = 0.1 * (place + 1)
            cells.append((method, "", seed, "test", "recall_at_1", 0.9 - rho + off))
            cells.append((method, "", seed, "train", "rho", rho))
    return long_table(cells)


def test_correlations_are_over_methods(measured, titles):
    (row,) = view("tables", "correlations", x=["rho"])(measured, titles).rows
    assert [cell.value for cell in row.cells] == pytest.approx([-1, -1, -1, -1, 4])


def test_a_point_at_infinity_is_left_out(measured, titles):
    flat = (measured.method == "margin") & (measured.metric == "rho")
    measured.loc[flat, "value"] = float("inf")
    (row,) = view("tables", "correlations", x=["rho"])(measured, titles).rows
    assert [cell.value for cell in row.cells] == pytest.approx([-1, -1, -1, -1, 3])


def test_a_scatter_plot_marks_each_method_and_says_the_correlation(measured, titles):
    figure = view("figures", "scatter_with_correlation", x=["rho"])(measured, titles)
    (axes,) = figure.axes
    assert axes.get_title(loc="left") == "r = \u22121.00 [\u22121.00, \u22121.00], 4 points"
    drawn = {
        box.get_label(): (box[0].get_xdata()[0], box[0].get_ydata()[0]) for box in axes.containers
    }
    assert drawn["Triplet"] == pytest.approx((0.2, 70))
    assert len(drawn) == 4
    assert len(axes.figure.findobj(mpl.legend.Legend)) == 1


def test_no_two_objectives_look_alike():
    methods = [method for method in style.PALETTE if method != "untrained"]
    variants = ["", "miner=R", "miner=D", "beta=0.6", "miner=D,regularizer=rho"]
    looks = style.looks(list(itertools.product(methods, variants)))
    faces = {(look["color"], look["marker"], look["mfc"]) for look in looks.values()}
    assert len(faces) == len(looks)
    regularized = looks["triplet", "miner=D,regularizer=rho"]
    assert regularized["mfc"] == "white"
    assert regularized["marker"] == looks["triplet", "miner=D"]["marker"]
