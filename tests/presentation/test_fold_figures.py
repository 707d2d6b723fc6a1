"""Figures of combined folds, against values computed by hand."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.presentation.figures.bar import improvements
from kinds import build
from scipy import stats

BASE = {
    "dataset": "cub200",
    "network": "bninception",
    "embedding_dim": 128,
    "recipe": "musgrave2020",
    "variant": "tuned",
    "split": "half4fold",
    "selection": "best_validation_epoch",
    "role": "test",
    "metric": "recall_at_1",
    "run": "",
}
TITLES = {"contrastive": "Contrastive", "triplet": "Triplet", "margin": "Margin", "cub200": "CUB"}
YEARS = {"contrastive": 2006, "triplet": 2006, "margin": 2017}
MEANS = {
    "concatenated": {"contrastive": 0.60, "triplet": 0.54, "margin": 0.66},
    "separated": {"contrastive": 0.50, "triplet": 0.50, "margin": 0.55},
}


@pytest.fixture
def scores():
    """Two seeds, a point above and below the mean."""
    return pd.DataFrame(
        BASE | {"fold": fold, "method": method, "seed": seed, "value": mean + step}
        for fold, of_fold in MEANS.items()
        for method, mean in of_fold.items()
        for seed, step in ((0, -0.01), (1, 0.01))
    )


@pytest.fixture
def printed(scores):
    """Printed numbers of one seed: ten points more."""
    numbers = scores[scores.seed == 0].assign(why="", number=100 * scores.value + 11)
    return numbers.drop(columns=["seed", "value", "run", "recipe", "selection"])


def drawn(kind, scores, **options):
    given = {"title": "T", "selection": "best_validation_epoch", "methods": list(YEARS)}
    return build("figures", kind, years=YEARS, **(given | options))(scores, TITLES)


def bars(figure):
    return sorted(
        round(bar.get_height(), 6)
        for bar in figure.findobj(mpl.patches.Rectangle)
        if bar.get_width() == pytest.approx(0.37)
    )


def texts(figure):
    return [text.get_text() for text in figure.findobj(mpl.text.Text)]


def test_bars_are_the_scores_of_both_forms(scores, printed):
    figure = drawn("scores_by_form", scores, metric="recall_at_1", printed=printed)
    expected = sorted(100 * v for of_fold in MEANS.values() for v in of_fold.values())
    assert bars(figure) == pytest.approx(expected)
    marks = [line for line in figure.findobj(mpl.lines.Line2D) if line.get_marker() == "D"]
    heights = sorted(float(height) for line in marks for height in line.get_ydata())
    assert heights == pytest.approx([value + 10 for value in expected])


def test_the_slope_over_the_years_is_that_of_least_squares(scores, printed):
    options = {"metric": "recall_at_1", "fold": "concatenated"}
    figure = drawn("scores_by_year", scores, printed=printed, **options)
    slope = stats.linregress([2006, 2006, 2017], [60, 54, 66]).slope
    assert f"CUB: {slope:+.2f} points a year" in texts(figure)
    for title in ("Contrastive", "Triplet", "Margin"):
        assert title in texts(figure)


def test_improvements_are_means_over_the_other_losses(scores, printed):
    found = improvements(scores[scores.seed == 0], "contrastive", "recall_at_1")
    found = found.set_index("fold")["value"]
    concatenated = np.mean([0.53 / 0.59, 0.65 / 0.59])
    separated = np.mean([0.49 / 0.49, 0.54 / 0.49])
    expected = [100 * (concatenated - 1), 100 * (separated - 1)]
    assert found[["concatenated", "separated"]].tolist() == pytest.approx(expected)
    options = {"metric": "recall_at_1", "references": ["contrastive", "triplet"]}
    figure = drawn("relative_improvement", scores, printed=printed, **options)
    assert len(bars(figure)) == 4
    assert {"over Contrastive", "over Triplet"} <= set(texts(figure))


def test_a_reference_without_scores_is_named(scores):
    with pytest.raises(UserError, match="no scores of fastap"):
        improvements(scores, "fastap", "recall_at_1")


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("scores_by_form", {}),
        ("scores_by_year", {"fold": "concatenated"}),
    ],
)
def test_no_scores_are_said(scores, kind, options):
    with pytest.raises(UserError, match="no scores of map_at_r"):
        drawn(kind, scores, metric="map_at_r", **options)
