"""Figures of changes, axes and spectra, against values computed by hand."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.presentation._relative import means, relative
from kinds import build

BASE = {
    "dataset": "glyphs",
    "network": "convnet",
    "embedding_dim": 8,
    "recipe": "short",
    "split": "half",
    "fold": "",
    "selection": "last_epoch",
    "role": "test",
    "run": "",
}
TITLES = {"triplet": "Triplet", "margin": "Margin", "glyphs": "Glyphs", "sampler=b": "sampler = B"}


def table(cells, **common):
    """A long table of (method, variant, seed, metric, value)."""
    columns = ("method", "variant", "seed", "metric", "value")
    return pd.DataFrame([BASE | common | dict(zip(columns, cell, strict=True)) for cell in cells])


def drawn(kind, scores, arrays=None, **options):
    given = {"title": "T", "selection": "last_epoch", "methods": ["triplet", "margin"]}
    given |= {"baseline": "untrained", "rows": scores.to_dict("records")}
    given |= {} if arrays is None else {"arrays": arrays}
    return build("figures", kind, **(given | options))(scores, TITLES)


def texts(figure):
    return [text.get_text() for text in figure.findobj(mpl.text.Text)]


@pytest.fixture
def changed():
    """Triplet 50 without and 54 with; margin 60 without; one point off for the second seed."""
    cells = [("triplet", "miner=D", 0.50), ("triplet", "miner=D,regularizer=rho", 0.54)]
    cells += [("margin", "", 0.60)]
    return table([(m, v, s, "recall_at_1", x + 0.01 * s) for m, v, x in cells for s in (0, 1)])


def test_means_are_over_seeds_in_percent(changed):
    found = means(changed, "last_epoch").set_index(["method", "variant"])
    assert found.loc[("triplet", "miner=D"), "value"] == pytest.approx(50.5)
    assert found.loc[("triplet", "miner=D"), "std"] == pytest.approx(0.5**0.5)
    assert set(found.seeds) == {2}


def test_a_change_is_in_the_row_of_the_same_without_it(changed):
    figure = drawn("scores_with_change", changed, change=["regularizer"])
    (axes,) = figure.axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["Margin", "Triplet, miner=D"]
    without, with_it = (box[0] for box in axes.containers)
    assert sorted(without.get_xdata()) == pytest.approx([50.5, 60.5])
    assert with_it.get_xdata() == pytest.approx([54.5])
    assert round(with_it.get_ydata()[0]) == 1


@pytest.fixture
def along():
    """Two metrics along an axis of three values: 40, 50, 20 and 10, 8, 5 percent."""
    values = {"recall_at_1": (0.4, 0.5, 0.2), "nmi": (0.10, 0.08, 0.05)}
    return table(
        [
            ("triplet", f"miner=D,batch={batch}", 0, metric, value)
            for metric, scores in values.items()
            for batch, value in zip((112, 28, 56), scores, strict=True)
        ]
    )


def test_shares_are_of_the_best_of_each_metric(along):
    found = relative(means(along, "last_epoch"), "batch", ["recall_at_1", "nmi"])
    share = found.pivot(index="at", columns="metric", values="share")
    assert share.loc["112"].tolist() == pytest.approx([100, 80])
    assert share.loc["56"].tolist() == pytest.approx([50, 40])
    assert set(found.rest) == {"miner=D"}
    with pytest.raises(UserError, match="no scores of nmi along sampler"):
        relative(means(along, "last_epoch"), "sampler", ["nmi"])


def test_the_best_of_a_metric_may_be_the_lowest():
    scores = means(
        table(
            [
                ("triplet", f"projection={steps}", 0, "violated_constraints", value)
                for steps, value in ((1, 0.2), (5, 0.1))
            ]
        ),
        "last_epoch",
    )
    found = relative(scores, "projection", ["violated_constraints"])
    assert found.set_index("at")["share"].to_dict() == pytest.approx({"1": 200, "5": 100})


def test_relative_scores_are_lines_over_rising_values(along):
    figure = drawn(
        "relative_scores",
        along,
        axes=["batch"],
        metrics=["recall_at_1", "nmi"],
        reference={"network": "convnet", "embedding_dim": 8},
    )
    (axes,) = figure.axes
    (line,) = axes.lines
    # 28: 100 and 80 percent of the best; 56: 40 and 50; 112: 80 and 100.
    assert line.get_ydata() == pytest.approx([90, 45, 90])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["28", "56", "112"]


def test_an_axis_that_is_a_column_leaves_out_what_else_varies():
    scores = table([("triplet", "", 0, "nmi", 0.4), ("triplet", "batch=28", 0, "nmi", 0.9)])
    scores = pd.concat([scores, table([("triplet", "", 0, "nmi", 0.8)], embedding_dim=16)])
    figure = drawn(
        "relative_scores",
        scores,
        axes=["embedding_dim", "batch"],
        metrics=["nmi"],
        reference={"network": "convnet", "embedding_dim": 8},
    )
    size, batch = (axes.lines[0].get_ydata() for axes in figure.axes)
    assert size == pytest.approx([50, 100])
    assert batch == pytest.approx([100])


def test_distributions_are_over_losses_and_metrics():
    cells = [
        (method, f"sampler={sampler}", 0, metric, value)
        for sampler, value in (("a", 0.5), ("b", 0.4))
        for method in ("triplet", "margin")
        for metric in ("recall_at_1", "nmi")
    ]
    figure = drawn(
        "relative_distributions", table(cells), axis="sampler", metrics=["recall_at_1", "nmi"]
    )
    assert {"sampler=a", "B"} <= set(texts(figure))
    heights = [line.get_ydata() for line in figure.axes[0].lines]
    levels = {round(float(height)) for line in heights for height in line}
    assert levels == {100, 80}


def test_a_matrix_holds_the_correlations_of_the_metrics():
    rng = np.random.default_rng(0)
    values = rng.random((5, 2))
    cells = [
        ("triplet", f"miner={row}", 0, metric, values[row, column])
        for row in range(5)
        for column, metric in enumerate(("recall_at_1", "nmi"))
    ]
    figure = drawn("metric_correlations", table(cells), metrics=["recall_at_1", "nmi"])
    wanted = f"{np.corrcoef(values.T)[0, 1]:.2f}".replace("-", "\u2212")
    assert texts(figure).count(wanted) == 1
    with pytest.raises(UserError, match="need 3 points"):
        drawn("metric_correlations", table(cells[:4]), metrics=["recall_at_1", "nmi"])


def test_spectra_are_those_of_the_runs(tmp_path):
    cells = [("triplet", "", 0), ("triplet", "", 1), ("triplet", "mixup", 0)]
    parts = [
        table([(*cell, "recall_at_1", 0.5)], run=f"glyphs/run{number}")
        for number, cell in enumerate(cells)
    ]
    values = ([4.0, 3.0, 1.0], [2.0, 1.0, 1.0], [8.0, 1.0, 1.0])
    arrays = {
        f"results/runs/glyphs/run{number}/measures/training_structure.npz": {
            "last_epoch/singular_values": np.array(spectrum)
        }
        for number, spectrum in enumerate(values)
    }
    scores = pd.concat(parts, ignore_index=True)
    figure = drawn("singular_spectra", scores, arrays, change=["mixup"], first=2)
    lines = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    assert lines["without, R@1 50.0"] == pytest.approx([0.5, 0.3125])
    assert lines["with, R@1 50.0"] == pytest.approx([0.8, 0.1])
    with pytest.raises(UserError, match="no array last_epoch/class_singular_values"):
        drawn(
            "singular_spectra", scores, arrays, change=["mixup"], spectra=["class_singular_values"]
        )


def test_a_dashed_line_is_the_score_without_the_change():
    cells = [
        ("triplet", f"regularizer=rho,p={p}", 0, "recall_at_1", v)
        for p, v in ((0.4, 0.6), (0.1, 0.5))
    ]
    scores = table([*cells, ("triplet", "", 0, "recall_at_1", 0.45)])
    options = {"metrics": ["recall_at_1"], "band": "std"}
    change = ["regularizer", "p"]
    figure = drawn("scores_by_axis", scores, axis="p", change=change, **options)
    curve, dashed = figure.axes[0].lines
    assert curve.get_xdata().tolist() == [0.1, 0.4]
    assert curve.get_ydata() == pytest.approx([50, 60])
    assert dashed.get_ydata() == pytest.approx([45, 45])
    with pytest.raises(UserError, match="with role test have a variant margin=<number>"):
        drawn("scores_by_axis", scores, axis="margin", change=["margin"], **options)
