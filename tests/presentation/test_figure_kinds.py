"""Figures: what they show, that they say how scores were selected, that bytes repeat."""

import hashlib
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.presentation import style
from dmlbench.presentation.figures.line import spread_out
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import build


def bars(methods, **options):
    given = {
        "title": "T",
        "methods": methods,
        "metrics": ["recall_at_1", "recall_at_2"],
        "embedding_dim": 64,
        "selection": "best_test_epoch",
    }
    return build("figures", "recall_by_method", **(given | options))


def lines(methods, **options):
    given = {"title": "T", "methods": methods, "selection": "best_test_epoch"}
    return build("figures", "recall_by_embedding_dim", **(given | options))


def texts(figure):
    return [text.get_text() for text in figure.findobj(mpl.text.Text)]


def test_bars_are_as_high_as_the_scores(synthetic_scores, titles, methods):
    figure = bars(methods, years={"triplet": 2015})(synthetic_scores(), titles)
    axes = figure.axes[0]
    heights = [bar.get_height() for bar in axes.patches]
    assert heights == pytest.approx([60, 70, 50, 60, 80, 90])
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["Contrastive", "Triplet\n2015", "ProxyAnchor"]
    assert "Untrained network\nR@1 20.0" in texts(figure)


def test_lines_pass_through_the_scores(synthetic_scores, titles, methods):
    figure = lines(methods)(synthetic_scores(), titles)
    drawn = [line.get_ydata() for axes in figure.axes for line in axes.lines]
    for wanted in ([60, 61], [50, 51], [80, 81], [20, 21]):
        assert any(np.allclose(line, wanted) for line in drawn if len(line) == 2)
    assert "ProxyAnchor  81.0" in texts(figure)
    assert "Untrained network  21.0" in texts(figure)


def test_an_axis_of_variants_is_drawn_in_the_order_of_its_numbers(
    synthetic_scores, titles, methods
):
    values = {"0": 0.0, "0.001": 0.1, "0.01": 0.05, "10": -0.1}
    parts = [
        synthetic_scores(dims=[64], variant=f"profs,lambda={text}").assign(
            value=lambda frame, gain=gain: frame.value + gain
        )
        for text, gain in reversed(values.items())
    ]
    scores = pd.concat([synthetic_scores(), *parts])
    figure = lines(methods, axis="lambda")(scores, titles)
    assert [label.get_text() for label in figure.axes[-1].get_xticklabels()] == list(values)
    assert figure.axes[-1].get_xlabel() == "lambda"
    drawn = [line.get_ydata() for axes in figure.axes for line in axes.lines]
    wanted = [50 + 100 * gain for gain in values.values()]
    assert any(np.allclose(line, wanted) for line in drawn if len(line) == 4)
    more = synthetic_scores(dims=[64, 128], variant="lambda=1")
    with pytest.raises(UserError, match=r"several values of embedding_dim \(64, 128\)"):
        lines(methods, axis="lambda")(more, titles)


@pytest.mark.parametrize("kind", [bars, lines])
def test_figures_say_how_scores_were_selected(kind, synthetic_scores, titles, methods):
    shown = " ".join(texts(kind(methods)(synthetic_scores(), titles)))
    assert "Test-selected" in shown
    honest = " ".join(texts(kind(methods, selection="last_epoch")(synthetic_scores(), titles)))
    assert "last epoch" in honest
    assert "est-selected" not in honest


@pytest.mark.parametrize("kind", [bars, lines])
def test_one_size_and_one_loss_and_no_baseline_draw(kind, synthetic_scores, titles, methods):
    scores = synthetic_scores(dims=[64], seeds=[0, 1])
    scores = scores[scores.method == "triplet"]
    figure = kind(["triplet"])(scores, titles)
    assert len(figure.axes) == 1


def test_two_networks_must_be_distinguished(synthetic_scores, titles, methods):
    scores = pd.concat([synthetic_scores(), synthetic_scores(network="resnet50")])
    for kind in (bars, lines):
        with pytest.raises(UserError, match="several values of network"):
            kind(methods)(scores, titles)


@pytest.mark.parametrize("kind", [bars, lines])
def test_the_same_scores_give_the_same_bytes(kind, synthetic_scores, titles, methods, tmp_path):
    digests = []
    for attempt in ("one", "two"):
        figure = kind(methods)(synthetic_scores(), titles)
        paths = {end: tmp_path / f"{attempt}.{end}" for end in ("pdf", "svg", "png")}
        style.save(figure, **paths)
        digests.append([hashlib.sha256(path.read_bytes()).hexdigest() for path in paths.values()])
    assert digests[0] == digests[1]


def test_no_file_carries_a_date_and_pdf_embeds_its_fonts(
    synthetic_scores, titles, methods, tmp_path
):
    figure = bars(methods)(synthetic_scores(), titles)
    style.save(figure, pdf=tmp_path / "f.pdf", svg=tmp_path / "f.svg")
    pdf, svg = (tmp_path / "f.pdf").read_bytes(), (tmp_path / "f.svg").read_text()
    assert b"CreationDate" not in pdf
    assert b"/FontFile2" in pdf
    assert "<dc:date>" not in svg
    assert "<text" not in svg


def test_the_style_stays_inside(synthetic_scores, titles, methods):
    before = dict(mpl.rcParams)
    bars(methods)(synthetic_scores(), titles)
    assert dict(mpl.rcParams) == before


def test_every_method_keeps_its_color_and_colors_differ():
    assert len(set(style.PALETTE.values())) == len(style.PALETTE)
    assert style.color("proxy_anchor") == "#882255"
    code = "from dmlbench.presentation import style as s; print(s.color('new'), s.marker('new'))"
    path = {"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "7"}
    other = subprocess.run([sys.executable, "-c", code], env=path, capture_output=True, text=True)
    assert other.stdout.split() == [style.color("new"), style.marker("new")], other.stderr


def test_text_on_colors_is_legible():
    assert style.legible_on("#000000") == "white"
    assert style.legible_on("#ffffff") == style.INK
    assert style.legible_on(style.PALETTE["triplet"]) == style.INK


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 100), min_size=1, max_size=12), st.floats(0.1, 10))
def test_labels_keep_their_order_and_distance(values, gap):
    heights = {str(index): value for index, value in enumerate(values)}
    placed = spread_out(heights, gap=gap)
    order = sorted(heights, key=heights.get)
    steps = np.diff([placed[key] for key in order])
    assert (steps >= gap - 1e-9).all()
    # Least squares moves a group as a whole: the mean stays where it was.
    assert np.mean(list(placed.values())) == pytest.approx(np.mean(values), abs=1e-9)


def test_labels_far_apart_stay():
    assert spread_out({"a": 1.0, "b": 9.0}, gap=2) == {"a": 1.0, "b": 9.0}
    assert spread_out({"a": 5.0, "b": 5.0}, gap=2) == {"a": 4.0, "b": 6.0}


def test_a_broken_scale_is_marked(synthetic_scores, titles, methods):
    figure = lines(methods)(synthetic_scores(), titles)
    marks = [line for axes in figure.axes for line in axes.lines if line.get_gid() == "break"]
    assert len(marks) == (2 if len(figure.axes) == 2 else 0)
    assert len(figure.axes) == 2
