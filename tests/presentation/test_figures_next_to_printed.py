"""Figures that mark printed numbers next to ours."""

import re

import matplotlib.colors as colors
import pandas as pd
import pytest
from dmlbench.errors import UserError
from kinds import build
from next_to_printed import SELECTION, ours, printed


def figure(kind, frame, scores, **options):
    context = {"title": "T", "selection": SELECTION, "baseline": None, "years": {}}
    context["methods"] = list(dict.fromkeys(frame.method))
    view = build("figures", kind, **(context | options))
    return view(scores, {key: key for key in ("resnet50", "bninception", "googlenet")})


def hollow(shown):
    """Heights of the hollow marks, sorted."""
    lines = [line for axes in shown.axes for line in axes.lines]
    marks = [line for line in lines if line.get_marker() not in ("", "None", None)]
    marks = [line for line in marks if colors.same_color(line.get_markerfacecolor(), "white")]
    return sorted(float(y) for line in marks for y in line.get_ydata())


@pytest.mark.parametrize(
    ("kind", "tables", "where", "options"),
    [
        (
            "recall_by_method",
            ["06"],
            {"embedding_dim": 128},
            {"metrics": ["recall_at_1", "recall_at_2"], "embedding_dim": 128},
        ),
        ("recall_by_embedding_dim", ["06"], {"metric": "recall_at_1"}, {}),
        (
            "recall_by_network",
            ["06", "07", "08"],
            {"embedding_dim": 512, "metric": "recall_at_1"},
            {},
        ),
    ],
)
def test_figures_mark_the_printed_numbers(kind, tables, where, options):
    frame = printed(*tables, **where)
    frame = frame[frame.metric.isin(["recall_at_1", "recall_at_2"])]
    scores = ours(frame, add=[0.01])
    shown = figure(kind, frame, scores, printed=printed(*tables), **options)
    assert hollow(shown) == pytest.approx(sorted(frame.number))
    texts = [text.get_text() for axes in shown.axes for text in axes.texts]
    assert any(re.search(r"(Hollow|Diamond): printed", text) for text in texts)
    assert hollow(figure(kind, frame, scores, **options)) == []


@pytest.mark.parametrize("column", [{"role": "validation"}, {"why": "cited"}])
def test_figures_mark_the_placed_numbers_of_test_images_alone(column):
    frame = printed("06", metric="recall_at_1")
    both = pd.concat([frame, frame.assign(number=1.0, **column)], ignore_index=True)
    shown = figure("recall_by_embedding_dim", frame, ours(frame), printed=both)
    assert hollow(shown) == pytest.approx(sorted(frame.number))


def test_networks_of_several_sizes_do_not_go_into_one_figure():
    frame = printed("06", "07", metric="recall_at_1")
    with pytest.raises(UserError, match="several values of embedding_dim"):
        figure("recall_by_network", frame, ours(frame))
