"""The critical-difference diagram shows the ranks, the bars and the verdict of the statistics."""

from pathlib import Path

import matplotlib as mpl
import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.presentation import style
from dmlbench.statistics.friedman import apart_by_ranks, critical_difference, groups
from dmlbench.statistics.placement import read_placed
from dmlbench.statistics.printed import as_scores, read_printed
from dmlbench.statistics.tournament import ranks, write_tournament
from kinds import build
from run_files import run_files

PSOMAS = Path(__file__).parents[2] / "config" / "reference" / "psomas2020"


@pytest.fixture
def diagram():
    def diagram(methods, **options):
        given = {"methods": methods, "selection": "best_test_epoch"}
        return build("figures", "critical_difference", **(given | options))

    return diagram


@pytest.fixture
def printed_scores():
    return as_scores(read_printed(PSOMAS, ["06", "07", "08"]))


def texts(figure):
    return [text.get_text() for text in figure.findobj(mpl.text.Text)]


def marks(axes, methods):
    return {line.get_gid(): line.get_xdata()[0] for line in axes.lines if line.get_gid() in methods}


def test_marks_and_bars_are_at_the_average_ranks(diagram, printed_scores):
    methods = sorted(printed_scores.method.unique())
    axes = diagram(methods)(printed_scores, {}).axes[0]
    table = ranks(
        printed_scores, metric="recall_at_1", methods=methods, selection="best_test_epoch"
    )
    average = table.mean(axis="columns")
    assert marks(axes, methods) == pytest.approx(average.to_dict())
    drawn = [line.get_xdata() for line in axes.lines if line.get_gid() == "group"]
    wanted = groups(average, apart_by_ranks(average, critical_difference(10, 12)))
    assert len(drawn) == len(wanted) == 4
    for (start, end), group in zip(drawn, wanted, strict=True):
        assert start < average[group].min() < average[group].max() < end


def test_it_says_what_was_tested_and_selected(diagram, synthetic_scores, titles, methods):
    scores = synthetic_scores(dims=(16, 32, 64, 128))
    shown = " ".join(texts(diagram([*methods, "untrained"])(scores, titles)))
    # Three methods in the same order four times: one of 6 ** 3 arrangements of the last three.
    assert "Ranks by R@1 in 4 experiments, Friedman p = 0.00463. Test-selected" in shown
    assert "critical difference 1.66" in shown
    assert "ProxyAnchor  1.00" in shown
    assert "Untrained" not in shown


@pytest.mark.parametrize("kind", ["critical_difference", "rank_by_year"])
def test_ranks_read_from_the_tournament_are_the_same_figure(
    kind, synthetic_scores, titles, methods, tmp_path
):
    scores = synthetic_scores(dims=(16, 32, 64, 128))
    scores.loc[(scores.method == "triplet") & (scores.embedding_dim == 64), "value"] += 0.10
    board = {suffix: tmp_path / f"tournament.{suffix}" for suffix in ("csv", "parquet")}
    rule = {"methods": methods, "selection": "best_test_epoch"}
    rows, files = run_files(scores, tmp_path / "runs")
    write_tournament(rows, files, **board, metric="recall_at_1", **rule)
    years = {method: 2010 + place for place, method in enumerate(methods)}
    computed, read = (
        build("figures", kind, years=years, **rule, **given)(scores, titles)
        for given in ({}, {"board": [board["parquet"]]})
    )
    assert len(set(texts(computed))) > 4
    assert texts(read) == texts(computed)
    drawn = [
        [line.get_xydata().tolist() for line in each.axes[0].lines] for each in (computed, read)
    ]
    assert drawn[0] == drawn[1]


def test_printed_ranks_are_below_ours(diagram, printed_scores):
    better = printed_scores.copy()
    better.loc[better.method == "triplet", "value"] += 0.5
    guest = better[better.method == "triplet"].assign(method="guest", value=0.1)
    methods = [*sorted(printed_scores.method.unique()), "guest"]
    printed = read_placed(PSOMAS / f"table_{table}.csv" for table in ("06", "07", "08"))
    figure = diagram(methods, printed=printed)(pd.concat([better, guest]), {})
    ours, theirs = figure.axes
    assert marks(ours, methods)["triplet"] == 1
    assert marks(theirs, methods)["triplet"] == pytest.approx(103 / 12)
    assert "guest" not in marks(theirs, methods)
    assert "The same from the printed tables 6, 7, 8" in texts(figure)


def test_names_of_twelve_methods_do_not_overlap(diagram, printed_scores):
    more = [
        printed_scores[printed_scores.method == "margin"].assign(method=f"psomas_proxy_{n}")
        for n in (1, 2)
    ]
    scores = pd.concat([printed_scores, *more])
    figure = diagram(sorted(scores.method.unique()))(scores, {})
    figure.canvas.draw()
    boxes = [t.get_window_extent() for t in figure.axes[0].texts if "." in t.get_text()]
    assert len(boxes) == 14  # twelve names, the critical difference, the line below the title
    overlaps = [(a, b) for i, a in enumerate(boxes) for b in boxes[:i] if a.overlaps(b)]
    assert not overlaps


@pytest.mark.parametrize("alike", [2, 3, 4])
def test_equal_ranks_have_their_names_on_one_side(diagram, printed_scores, alike):
    three = printed_scores[printed_scores.method.isin(["soft_triple", "margin", "n_pair"])]
    margin = three[three.method == "margin"]
    more = [margin.assign(method=f"margin_{number}") for number in range(1, alike)]
    scores = pd.concat([three, *more])
    methods = sorted(scores.method.unique())
    figure = diagram(methods)(scores, {})
    names = [text for text in figure.axes[0].texts if "margin" in text.get_text().lower()]
    assert len(names) == alike
    assert len({text.get_ha() for text in names}) == 1
    # Every name has a height of its own within the figure.
    heights = [text.xy[1] for text in names]
    assert len(set(heights)) == alike
    assert min(heights) > figure.axes[0].get_ylim()[0]


def test_one_experiment_and_one_method(diagram, synthetic_scores, titles, methods):
    scores = synthetic_scores(dims=[64])
    shown = " ".join(texts(diagram(methods)(scores, titles)))
    assert "in 1 experiment." in shown
    assert "wider than the scale" in shown
    with pytest.raises(UserError, match="1 methods; allowed: at least 2"):
        diagram(["triplet"])(scores, titles)


def test_the_same_diagram_gives_the_same_bytes(
    diagram, synthetic_scores, titles, methods, tmp_path
):
    for number in (1, 2):
        figure = diagram(methods)(synthetic_scores(), titles)
        style.save(figure, svg=tmp_path / f"{number}.svg")
    assert (tmp_path / "1.svg").read_bytes() == (tmp_path / "2.svg").read_bytes()
