"""Views of orders of losses over networks and data sets: rows, marks, and their sentences."""

import matplotlib as mpl
import numpy as np
import pytest
from crossed_orders import drawn
from dmlbench.errors import UserError
from dmlbench.presentation.answer import answer
from dmlbench.presentation.table import write
from finished_study import BARE
from kinds import build

TITLES = {"recall_at_1": "R@1", "m0": "First", "n0": "A network", "d0": "A data set"}
FEW = dict.fromkeys(["loss", "with_network", "with_dataset", "with_both", "with_classes"], 0.01)


def scores(seed=0, **components):
    """Nine losses, in fractions."""
    found = drawn(np.random.default_rng(seed), FEW | {"rest": 0.01} | components)
    value = found["value"] / 100
    return found.assign(value=value, metric="recall_at_1", role="test", selection="last_epoch")


def table(kind, frame, **options):
    return build("tables", kind, metrics=["recall_at_1"], **options)(frame, TITLES)


def said(kind, frame, folder):
    csv = folder / "t.csv"
    write(table(kind, frame), csv=csv)
    shown = {"id": "t", "csv": csv, "kind": kind, "options": {"metrics": ["recall_at_1"]}}
    (sentence,) = answer(BARE | {"tournament": None, "titles": TITLES, "tables": [shown]})
    return sentence


@pytest.mark.parametrize(
    ("components", "begins"),
    [
        ({"loss": 9.0}, "Yes, more of the losses than of networks and data sets: "),
        ({"with_network": 9.0, "with_dataset": 9.0}, "No, more of networks and data sets than"),
        ({"rest": 9.0}, "Not shown to be more of the losses than of networks and data sets: "),
    ],
)
def test_the_answer_says_whose_the_variance_is(components, begins, tmp_path):
    frame = scores(**components)
    sentence = said("order_shares", frame, tmp_path)
    assert sentence.startswith(begins)
    own = table("order_shares", frame).rows[0].cells
    share, low, high = (f"{cell.value:.1f}".replace("-", "\N{MINUS SIGN}") for cell in own[:3])
    assert f"of R@1 between losses, {share} % [{low}, {high}] is the loss" in sentence


def test_shares_of_scores_as_they_are_come_before_those_of_scaled_runs():
    found = table("order_shares", scores())
    labels = [row.label for row in found.rows]
    assert labels[:8] == labels[8:]
    assert [row.baseline for row in found.rows[:8]] == [False] * 6 + [True] * 2
    for panel in (found.rows[:6], found.rows[8:14]):
        assert sum(row.cells[0].value for row in panel) == pytest.approx(100)
    assert found.rows[8].cells[3].value is None
    assert "between 9 losses, after the means of runs, on 2 networks and 3" in found.caption


@pytest.mark.parametrize(
    ("components", "agree", "ceiling"),
    [
        ({"loss": 9.0}, " agree: ", "by +"),
        ({"with_both": 9.0}, " are not shown to agree: ", ", less (difference +"),
        ({"rest": 9.0}, " are not shown to agree: ", ", which is not shown to be more (diff"),
    ],
)
def test_the_answer_says_whether_orders_agree_as_far_as_noise_allows(
    components, agree, ceiling, tmp_path
):
    sentence = said("order_agreement", scores(**components), tmp_path)
    assert sentence.startswith("Orders by R@1 on another network and another data set")
    assert agree in sentence
    assert ceiling in sentence


def test_without_swaps_there_is_no_ceiling(tmp_path):
    frame = scores()
    frame = frame[frame["split"] == "s0"]
    assert "other classes" not in said("order_agreement", frame, tmp_path)
    assert table("order_by_cells", frame).notes == ()
    with pytest.raises(UserError, match="1 splits in each"):
        table("order_shares", frame)


def test_the_number_of_cells_has_a_row_each_and_a_ceiling(tmp_path):
    frame = scores(loss=9.0)
    found = table("order_by_cells", frame, designs=[[1, 1], [2, 3]])
    assert [row.label for row in found.rows] == [
        *("1 network × 1 data set", "2 networks × 3 data sets")
    ]
    (note,) = found.notes
    assert note.startswith("R@1: with itself on other classes, the mean of 2 splits of a cell")
    sentence = said("order_by_cells", frame, tmp_path)
    assert "over 1 network × 1 data set and " in sentence
    assert "over 10 networks × 10 data sets (" in sentence


def test_losses_that_are_shown_to_differ_are_named_best_first(tmp_path):
    frame = scores()
    apart = frame["value"] + frame["method"].map({"m0": -0.2, "m1": 0.2}).fillna(0)
    found = table("order_means", frame.assign(value=apart))
    assert [row.label for row in found.rows][:: len(found.rows) - 1] == ["m1", "First"]
    sentence = said("order_means", frame.assign(value=apart), tmp_path)
    assert "m1 above 8" in sentence
    assert "First below 8" in sentence
    nothing = said("order_means", scores(rest=9.0), tmp_path)
    assert "no loss is shown to differ from any other" in nothing


def test_the_figure_fills_the_marks_whose_interval_excludes_0():
    frame = scores()
    apart = frame["value"] + frame["method"].map({"m0": -0.2, "m1": 0.2}).fillna(0)
    figure = build("figures", "losses_over_cells", title="T", methods=[f"m{i}" for i in range(9)])(
        frame.assign(value=apart), TITLES
    )
    whole, *panels = figure.axes
    names = [label.get_text() for label in whole.get_yticklabels()]
    assert names[0] == "m1"
    assert names[-1] == "First"
    places = {
        round(float(y)): line.get_markerfacecolor() != "white"
        for line in whole.lines
        if line.get_marker() == "D"
        for y in line.get_ydata()
    }
    assert places[0]
    assert places[8]
    assert not all(places.values())
    assert [axes.get_title(loc="left") for axes in panels] == ["A data set", "d1", "d2"]
    texts = [text.get_text() for text in figure.findobj(mpl.text.Text)]
    assert "A network" in texts
    assert any("R@1 less the mean of all losses, in points" in text for text in texts)
