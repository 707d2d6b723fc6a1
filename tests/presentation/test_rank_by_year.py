"""The figure of mean ranks against years."""

import pandas as pd
import pytest
from dmlbench import plan
from dmlbench.errors import UserError
from dmlbench.plan.views import pages, views
from dmlbench.presentation.view_files import write_figure
from dmlbench.statistics.placement import read_placed
from invented import CONFIG
from kinds import build

YEARS = {"contrastive": 2006, "triplet": 2015, "margin": 2017, "proxy_anchor": 2020}


def built(**options):
    facts = {
        "title": "Later, better?",
        "methods": list(YEARS),
        "selection": "last_epoch",
        "years": YEARS,
    }
    return build("figures", "rank_by_year", **(facts | options))


def scores(values=(None,) * 4) -> pd.DataFrame:
    """R@1 of each method in one experiment."""
    return pd.DataFrame(
        {
            "dataset": "glyphs",
            "network": "convnet",
            "embedding_dim": 64,
            "method": list(YEARS),
            "recipe": "short",
            "variant": "",
            "split": "half",
            "fold": "",
            "seed": 0,
            "role": "test",
            "selection": "last_epoch",
            "metric": "recall_at_1",
            "value": values,
        }
    )


def marks(axes) -> dict[str, float]:
    return {line.get_gid(): line.get_ydata()[0] for line in axes.lines if line.get_gid()}


def test_marks_are_mean_ranks_and_the_note_their_correlation_with_years():
    figure = built()(scores([0.1, 0.2, 0.3, 0.4]), {})
    (axes,) = figure.axes
    assert marks(axes) == {"contrastive": 4, "triplet": 3, "margin": 2, "proxy_anchor": 1}
    said = " ".join(text.get_text() for text in axes.texts)
    assert "1 experiment; Spearman's correlation of year and rank −1.00" in said
    assert [label.get_text() for label in axes.get_xticklabels()] == [
        "2006",
        "2015",
        "2017",
        "2020",
    ]


def test_printed_ranks_of_psomas2020_are_those_of_its_tournament():
    """Table 11 prints the mean ranks; ours are of the same printed scores."""
    loaded = plan.reload({"pathvars": {"results": "results"}, "studies": ["psomas2020"]}, CONFIG)
    facts = views.facts(loaded, "psomas2020", "figure", "rank_by_year")
    view = views.view(loaded, "psomas2020", "figure", "rank_by_year")
    printed = read_placed(views.printed_files(loaded, "psomas2020", view))
    figure = built(printed=printed, years=facts["years"])(scores().iloc[:0], {})
    (axes,) = figure.axes
    table = pd.read_csv(CONFIG / "reference/psomas2020/table_11.csv")
    theirs = table[table["metric"] == "tournament_average_rank"].set_index("method")["value"]
    found = marks(axes)
    assert set(found) == set(theirs.index)
    # One printed mean is wrong (`snakemake audit`), and one repeats another loss's.
    near = [method for method in theirs.index if abs(found[method] - theirs[method]) < 0.006]
    assert len(near) >= 8


def test_a_figure_of_printed_numbers_needs_no_run(tmp_path):
    results = {"pathvars": {"results": str(tmp_path)}, "studies": ["musgrave2020"]}
    loaded = plan.reload(results, CONFIG)
    view = views.view(loaded, "musgrave2020", "figure", "rank_by_year")
    facts = views.facts(loaded, "musgrave2020", "figure", "rank_by_year") | {"rows": []}
    files = views.printed_files(loaded, "musgrave2020", view)
    write_figure([], facts, printed=files, svg=tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").stat().st_size > 1000
    assert "rank_by_year" in [each["id"] for each in pages.page(loaded, "musgrave2020")["figures"]]


def test_nothing_to_draw_is_an_error():
    with pytest.raises(UserError, match="neither scores nor printed"):
        built()(scores().iloc[:0], {})
