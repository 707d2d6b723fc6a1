"""Figures of experiments: they draw the table and the arrays."""

import hashlib

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.presentation import style
from kinds import build

TITLES = {"random": "random embeddings", "closed_form": "equation 7"}


def figure_of(kind, arrays=None, **options):
    return build("figures", kind, arrays=arrays, **options)


@pytest.fixture
def scores():
    """Two seeds of NMI at three numbers of classes, and one line of a formula."""
    rows = [
        {
            "method": "random",
            "variant": f"k=2,classes={n}",
            "seed": seed,
            "value": value + seed / 50,
        }
        for n, value in ((10, 0.1), (100, 0.4), (1000, 0.6))
        for seed in (0, 1)
    ]
    rows += [
        {"method": "closed_form", "variant": f"classes={n}", "seed": 0, "value": 0.5}
        for n in (100, 1000)
    ]
    return pd.DataFrame(rows).assign(dataset="", metric="nmi", role="test", selection="none")


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    angle = rng.random(30) * 2 * np.pi
    return {
        0: {
            "labels": np.arange(30) % 3,
            "flat": rng.normal(size=(30, 2)),
            "round": np.stack([np.cos(angle), np.sin(angle)], axis=1),
        }
    }


@pytest.fixture
def forces():
    panel = np.array([[[0, 0], [1, 0]], [[1, 0], [0, 1]], [[0, 1], [-1, -1]]], float)
    return {
        0: {
            "arrows_3_6_r=0": panel,
            "arrows_3_6_r=2": 2 * panel,
            "region_3_5_r=0": np.eye(5, dtype=bool),
            "extent_3_5": np.array([-1.0, 1.0, -2.0, 2.0]),
            "points_3_5": np.array([[0, 0], [0.5, 0]]),
        }
    }


def lines(figure):
    return [line for axes in figure.axes for line in axes.lines]


def texts(figure):
    return " ".join(text.get_text() for text in figure.findobj(mpl.text.Text))


def axis_figure(**options):
    given = {"axis": "classes", "panel": "method", "over": {"closed_form": "random"}}
    return figure_of("scores_by_axis", metrics=["nmi"], **(given | options))


def test_lines_are_means_over_the_axis_and_bands_are_intervals(scores):
    figure = axis_figure(log="x")(scores, TITLES)
    assert len(figure.axes) == 1
    measured, formula = lines(figure)
    assert measured.get_xdata().tolist() == [10, 100, 1000]
    assert measured.get_ydata() == pytest.approx([11, 41, 61])
    assert formula.get_ydata() == pytest.approx([50, 50])
    [band] = figure.axes[0].collections
    heights = band.get_paths()[0].vertices[:, 1]
    # Of two seeds 2 apart: 12.706 times 1.414 over the root of 2, either side.
    assert heights.max() == pytest.approx(61 + 12.706, abs=0.01)
    assert heights.min() == pytest.approx(11 - 12.706, abs=0.01)
    assert "95% interval of 2 seeds" in texts(figure)
    assert "equation 7" in texts(figure)


def test_methods_have_panels_unless_drawn_over_others(scores):
    figure = axis_figure(over={})(scores, TITLES)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["random embeddings", "equation 7"]


def test_an_axis_without_scores_is_one_line(scores):
    with pytest.raises(UserError, match="with role test have a variant margin=<number>; variants"):
        axis_figure(axis="margin")(scores, TITLES)


def test_spaces_show_their_points_and_scores(arrays, scores):
    spaces = [
        {"array": "flat", "title": "left", "where": {"variant": "k=2,classes=10"}},
        {"array": "round", "title": "right"},
    ]
    options = {"title": "T", "spaces": spaces, "metrics": ["nmi"], "circle": True}
    figure = figure_of("point_spaces", arrays, **options)(scores, TITLES)
    for axes, name in zip(figure.axes, ("flat", "round"), strict=True):
        drawn = np.concatenate([group.get_offsets() for group in axes.collections])
        order = np.argsort(arrays[0]["labels"], kind="stable")
        np.testing.assert_allclose(drawn, arrays[0][name][order])
    assert [len(axes.lines) for axes in figure.axes] == [0, 1]
    assert "NMI  11.0%" in texts(figure)
    assert "means of 2 seeds" in texts(figure)


def test_an_absent_space_is_one_line(arrays):
    with pytest.raises(UserError, match=r"'flt'; did you mean 'flat'"):
        figure_of("point_spaces", arrays, title="T", spaces=[{"array": "flt", "title": ""}])(
            None, {}
        )


def test_arrows_start_at_the_points_and_follow_the_forces(forces):
    figure = figure_of("force_field", forces, title="T", figure="3_6", scale=0.5)(None, TITLES)
    assert [axes.get_title(loc="left") for axes in figure.axes[:2]] == ["r=0", "r=2"]
    arrows = [
        text for text in figure.axes[0].texts if getattr(text, "arrow_patch", None) is not None
    ]
    assert [tuple(arrow.xyann) for arrow in arrows] == [(0, 0), (1, 0), (0, 1)]
    assert [tuple(arrow.xy) for arrow in arrows] == [(0.5, 0), (1, 0.5), (-0.5, 0.5)]


def test_regions_are_drawn_between_their_corners(forces):
    figure = figure_of("force_field", forces, title="T", figure="3_5")(None, TITLES)
    [image] = figure.axes[0].images
    np.testing.assert_array_equal(image.get_array(), np.eye(5))
    assert image.get_extent() == [-1, 1, -2, 2]


def test_an_unknown_figure_of_forces_names_those_there_are(forces):
    with pytest.raises(UserError, match="allowed: 3_5, 3_6"):
        figure_of("force_field", forces, title="T", figure="3_8")(None, {})


def test_the_same_outcome_gives_the_same_bytes(arrays, forces, scores, tmp_path):
    def drawn():
        yield axis_figure()(scores, TITLES)
        yield figure_of("point_spaces", arrays, title="T", spaces=[{"array": "flat", "title": ""}])(
            scores, TITLES
        )
        yield figure_of("force_field", forces, title="T", figure="3_6")(scores, TITLES)

    digests = []
    for _ in range(2):
        for place, figure in enumerate(drawn()):
            style.save(figure, svg=tmp_path / f"{place}.svg")
        files = sorted(tmp_path.glob("*.svg"))
        digests.append([hashlib.sha256(file.read_bytes()).hexdigest() for file in files])
    assert digests[0] == digests[1]


def test_a_figure_with_arrows_and_regions_draws_what_is_asked_for(forces):
    both = {0: forces[0] | {"region_3_6_r=0": np.eye(5, dtype=bool)}}
    both[0] |= {"extent_3_6": np.array([-1.0, 1.0, -1.0, 1.0]), "points_3_6": np.zeros((2, 2))}
    for draws, panels in (("arrows", 2), ("regions", 1)):
        figure = figure_of("force_field", both, title="T", figure="3_6", draws=draws)(None, TITLES)
        assert sum(bool(axes.get_title(loc="left")) for axes in figure.axes) == panels
    images = [axes for axes in figure.axes if axes.images]
    assert len(images) == 1
