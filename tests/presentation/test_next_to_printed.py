"""Tables that show printed numbers next to ours, against cells known by hand."""

import numpy as np
import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.presentation import _next_to_printed
from dmlbench.statistics.printed import as_scores
from next_to_printed import SELECTION, ours, placed_scores, printed, row, table
from scipy import stats


def test_a_grid_is_next_to_the_printed_one_panel_by_panel():
    frame = printed("06")
    metrics = ["recall_at_1", "recall_at_8"]
    options = {"metrics": metrics, "printed": frame}
    shown = table("scores_next_to_printed", frame, ours(frame, add=[0.005]), **options)
    assert list(dict.fromkeys(row.panel for row in shown.rows)) == [
        f"({letter}) embedding size {size}"
        for letter, size in zip("abcd", (64, 128, 512, 1024), strict=True)
    ]
    assert len(shown.rows) == 40
    assert row(shown, "proxy anchor", "512") == {
        "recall_at_1": "69.98",
        "recall_at_1_printed": "69.48",
        "recall_at_1_difference": "+0.50",
        "recall_at_8": "92.87",
        "recall_at_8_printed": "92.37",
        "recall_at_8_difference": "+0.50",
        "recall_at_1_last_epoch": "68.98",
    }
    assert any("One seed" in note for note in shown.notes)


def test_seeds_say_whether_the_printed_number_is_theirs_too():
    frame = printed("07", embedding_dim=64)
    spread = [-0.002, 0.0, 0.002]
    for shift, inside in ((0.0, "yes"), (0.05, "no")):
        scores = ours(frame, add=[shift + step for step in spread])
        options = {"metrics": ["recall_at_1"], "printed": frame}
        shown = table("scores_next_to_printed", frame, scores, **options)
        half = stats.t.ppf(0.975, 2) * 0.2 * (1 + 1 / 3) ** 0.5
        assert (100 * shift < half) == (inside == "yes")
        assert row(shown, "margin")["recall_at_1_inside"] == inside
        assert "± 0.20" in row(shown, "margin")["recall_at_1"]
        assert not any("One seed" in note for note in shown.notes)


def test_the_note_names_the_test_that_was_made():
    alike = {"status": "both", "selection": "last_epoch", "printed_selection": ""}
    single = pd.DataFrame([{"printed": 60.0, "printed_std": np.nan, "inside": True} | alike])
    mean = single.assign(printed_std=0.5)
    for frame, test in (
        (single, "(prediction interval of Student's t over our runs)"),
        (mean, "(Welch's t, from the spread of our runs and the printed one)"),
        (pd.concat([single, mean]), "where none is printed, prediction interval of Student's t"),
    ):
        (note,) = _next_to_printed.note(frame)
        assert test in note


def test_a_number_of_another_epoch_than_ours_is_called_so():
    """roth2020's metrics but R@1 are printed at their own best epochs."""
    frame = printed("04", study="roth2020", method="histogram")
    spread = [-0.002, 0.0, 0.002]
    options = {"metrics": ["recall_at_1", "nmi"], "printed": frame}
    for rule, word in (("best_test_epoch", "other epoch"), ("own_best_test_epoch", "yes")):
        scores = pd.concat(
            placed_scores(frame, shift, rule).assign(seed=seed) for seed, shift in enumerate(spread)
        )
        shown = table("scores_next_to_printed", frame, scores, selection=rule, **options)
        found = row(shown, "histogram")
        assert (found["recall_at_1_inside"], found["nmi_inside"]) == ("yes", word)
        assert any("Other epoch" in note for note in shown.notes) == (word != "yes")


def test_a_deviation_is_divided_as_the_printed_one_is():
    frame = printed("04", study="roth2020", method="histogram")
    spread = [-0.01, 0.0, 0.01]
    scores = pd.concat(
        placed_scores(frame, shift, SELECTION).assign(seed=seed)
        for seed, shift in enumerate(spread)
    )
    options = {"metrics": ["recall_at_1"], "printed": frame}
    for ddof, said in ((1, "over 3 seeds."), (0, "over 3 seeds, dividing by n.")):
        shown = table("scores_next_to_printed", frame, scores, ddof=ddof, **options)
        found = row(shown, "histogram")
        assert f"± {100 * np.std(spread, ddof=ddof):.2f}" in found["recall_at_1"]
        assert said in shown.caption
        # The interval is that of the distribution of our runs, however its width is shown.
        assert found["recall_at_1_inside"] == "yes"


def test_missing_cells_say_why():
    frame = printed("17")
    scores = ours(frame)
    scores = scores[scores.method != "triplet"]
    new = scores[scores.method == "margin"].assign(method="psomas_proxy_1", run="new")
    scores = pd.concat([scores, new])
    options = {"metrics": ["recall_at_1"], "printed": frame}
    methods = [*dict.fromkeys(frame.method), "psomas_proxy_1"]
    shown = table("scores_next_to_printed", frame, scores, methods, **options)
    assert row(shown, "triplet") == {
        "recall_at_1": "not run",
        "recall_at_1_printed": "61.98",
        "recall_at_1_difference": "–",
        "recall_at_1_last_epoch": "not run",
    }
    assert row(shown, "psomas proxy 1")["recall_at_1_printed"] == "not printed"


def test_a_size_that_was_not_run_is_a_panel_of_printed_numbers():
    frame = printed("08")
    scores = ours(frame)
    options = {"metrics": ["recall_at_1"], "printed": frame}
    some = scores[scores.embedding_dim > 64]
    shown = table("scores_next_to_printed", frame, some, **options)
    assert row(shown, "margin", "64")["recall_at_1"] == "not run"
    there = row(shown, "margin", "128")
    assert there["recall_at_1"] == there["recall_at_1_printed"]


def test_a_grid_that_is_printed_nowhere_is_ours_alone():
    frame = printed("10")
    options = {"metrics": ["recall_at_1", "recall_at_1000"]}
    shown = table("scores_next_to_printed", frame, ours(frame), **options)
    names = ["recall_at_1", "recall_at_1000", "recall_at_1_last_epoch"]
    assert [column.name for column in shown.columns] == names
    assert shown.notes == ()


def test_recipes_are_panels_next_to_the_same_printed_numbers():
    frame = printed("07", embedding_dim=512)
    code = ours(frame, add=[0.01]).assign(recipe="code")
    scores = pd.concat([ours(frame), code.assign(run=code.run + "code")])
    options = {"metrics": ["recall_at_1"], "printed": frame, "panel": "recipe"}
    shown = table("scores_next_to_printed", frame, scores, **options)
    assert row(shown, "arcface", "psomas2020")["recall_at_1_difference"] == "+0.00"
    assert row(shown, "arcface", "code")["recall_at_1_difference"] == "+1.00"


def test_variants_are_rows_and_an_axis_is_the_panel():
    frame = printed("4_05", study="karaman2021")
    scores = placed_scores(frame.assign(fold="0"), selection="best_validation_epoch")
    validation = scores.assign(role="validation", value=0.5)
    options = {"metrics": ["map_at_r"], "printed": frame, "panel": "rho"}
    scores = pd.concat([scores, validation])
    options["selection"] = "best_validation_epoch"
    shown = table("scores_next_to_printed", frame, scores, **options)
    assert shown.row_header == "Variant"
    assert list(dict.fromkeys(row.panel for row in shown.rows)) == [
        "(a) rho = 0.1",
        "(b) rho = 0.2",
    ]
    margins = ["0.01", "0.1", "0.2", "0.3", "2.5", "5", "10", "20", "40"]
    assert [row.label for row in shown.rows] == 2 * [f"m={margin}" for margin in margins]
    assert row(shown, "m=40", "0.2")["map_at_r_difference"] == "+1.00"


def test_data_sets_are_columns_and_variants_of_several_methods_are_rows():
    frame = printed("02", study="roth2020")
    scores = placed_scores(frame)
    scores = scores[scores.variant != "miner=H"]
    options = {"metrics": ["recall_at_1", "nmi"], "printed": frame, "column": "dataset"}
    shown = table("scores_next_to_printed", frame, scores, **options)
    assert len({column.name for column in shown.columns}) == len(shown.columns) == 18
    found = row(shown, "margin, miner=D, beta=0.6, regularizer=rho")
    assert found["cub200_recall_at_1_printed"] == "64.93 ± 0.42"
    assert found["sop_nmi_difference"] == "+1.00"
    assert row(shown, "triplet, miner=H")["cars196_recall_at_1"] == "not run"
    assert row(shown, "proxy nca")["sop_recall_at_1_printed"] == "not printed"


def test_choices_are_columns_in_the_study_s_order_under_their_display_names():
    frame = printed("07", embedding_dim=64)
    parts = ["sampler=spc_10", "sampler=spc_2"]
    scores = pd.concat([ours(frame).assign(variant=part) for part in parts])
    options = {"metrics": ["recall_at_1"], "column": "sampler", "selection": "last_epoch"}
    titles = {"sampler=spc_2": "sampler = SPC-2", "sampler=spc_10": "sampler = SPC-10"}
    shown = table("scores_next_to_printed", frame, scores, titles=titles, **options)
    assert [column.header for column in shown.columns] == [
        "sampler = SPC-2, R@1",
        "sampler = SPC-10, R@1",
    ]


def test_choices_are_panels_under_their_display_names():
    frame = printed("07", embedding_dim=64)
    scores = pd.concat([ours(frame).assign(variant=part) for part in ("", "sampler=spc_2")])
    options = {"metrics": ["recall_at_1"], "panel": "sampler", "selection": "last_epoch"}
    titles = {"sampler=spc_2": "batch sampler = SPC-2"}
    shown = table("scores_next_to_printed", frame, scores, titles=titles, **options)
    panels = [row.panel for row in shown.rows]
    assert list(dict.fromkeys(panels)) == ["(a) no sampler", "(b) batch sampler = SPC-2"]


def test_folds_together_are_columns():
    frame = printed("03", study="musgrave2020", method="contrastive")
    metrics = ["recall_at_1", "r_precision", "map_at_r"]
    options = {"metrics": metrics, "printed": frame, "column": "fold"}
    shown = table("scores_next_to_printed", frame, placed_scores(frame), **options)
    (found,) = shown.rows
    names = [column.name for column in shown.columns if column.name.endswith("_printed")]
    assert names == [f"{f}_{m}_printed" for f in ("concatenated", "separated") for m in metrics]
    assert found.label == "contrastive, tuned"


def test_cited_numbers_have_none_of_ours():
    frame = printed("02", study="can2019", dataset="cub200")
    options = {"metrics": ["recall_at_1"], "printed": frame, "panel": "network"}
    shown = table("scores_next_to_printed", frame, placed_scores(frame), **options)
    cited = row(shown, "htl, literature")
    assert (cited["recall_at_1"], cited["recall_at_1_difference"]) == ("cited", "–")
    assert row(shown, "margin, profs")["recall_at_1_difference"] == "+1.00"


def test_a_cited_row_is_cited_where_it_prints_nothing_too():
    frame = printed("02", study="can2019", dataset="sop")
    options = {"metrics": ["recall_at_1", "recall_at_10"], "printed": frame, "panel": "dataset"}
    shown = table("scores_next_to_printed", frame, placed_scores(frame), **options)
    cited = row(shown, "proxy nca, literature")
    assert (cited["recall_at_1_printed"], cited["recall_at_1"]) == ("73.70", "cited")
    assert (cited["recall_at_10_printed"], cited["recall_at_10"]) == ("not printed", "cited")


def test_two_splits_in_one_cell_are_named():
    frame = printed("07")
    scores = pd.concat([ours(frame), ours(frame).assign(split="official", run="other")])
    with pytest.raises(UserError, match=r"several values of split \(half, official\) in one cell"):
        table("scores_next_to_printed", frame, scores, metrics=["recall_at_1"], printed=frame)


def folds(frame, shift=0.0):
    """Table 13 as scores of ours, folds counted from 0."""
    scores = as_scores(frame, selection="best_validation_epoch")
    placed = scores.assign(split="half10fold", fold=frame.fold, role=frame.role, run=frame.fold)
    return placed.assign(value=scores.value + shift)


def test_folds_fold_by_fold():
    frame = printed("13")
    options = {"printed": frame, "selection": "best_validation_epoch"}
    shown = table("scores_by_split", frame, folds(frame, 0.01), **options)
    assert [row.label for row in shown.rows] == [str(fold) for fold in range(1, 11)]
    assert row(shown, "10") == {
        "validation_recall_at_1": "98.92",
        "validation_recall_at_1_printed": "97.92",
        "validation_recall_at_1_difference": "+1.00",
        "test_recall_at_1": "63.34",
        "test_recall_at_1_printed": "62.34",
        "test_recall_at_1_difference": "+1.00",
    }


def test_table_13_summarized_is_table_12():
    frame, summary = printed("13"), printed("12")
    options = {"printed": summary, "selection": "best_validation_epoch"}
    options["metrics"] = ["recall_at_1"]
    shown = table("scores_next_to_printed", summary, folds(frame), **options)
    mine = row(shown, "multi similarity")
    assert mine["recall_at_1"] == mine["recall_at_1_printed"] == "63.61 ± 0.59"
    assert mine["recall_at_1_inside"] == "yes"
    assert row(shown, "soft triple")["recall_at_1"] == "not run"


def test_shares_of_validation_classes():
    frame = printed("14")
    scores = as_scores(frame, selection="best_validation_epoch")
    scores = scores.assign(split=frame.split, role=frame.role, run=frame.split)
    options = {"printed": frame, "selection": "best_validation_epoch"}
    options["labels"] = {"fixed-90": "90/10"}
    shown = table("scores_by_split", frame, scores, **options)
    assert [row.label for row in shown.rows] == ["fixed-70", "fixed-80", "90/10", "fixed-95"]
    assert row(shown, "90/10")["test_recall_at_1"] == "64.38"
    two = pd.concat([scores, scores.assign(method="triplet", run="other")])
    with pytest.raises(UserError, match="several values of method"):
        table("scores_by_split", frame, two, **options)


def test_the_tournament_shows_what_does_not_follow_from_the_printed_scores():
    frame = printed("11", "06", "07", "08")
    grids = printed("06", "07", "08")
    shown = table("tournament_next_to_printed", grids, ours(grids), printed=frame)
    triplet = row(shown, "triplet")
    assert triplet["ours_total_rank"] == triplet["printed_total_rank"] == "103"
    assert (triplet["ours_average_rank"], triplet["recomputed_average_rank"]) == ("8.58", "8.58")
    assert triplet["printed_average_rank"] == "8.85"
    assert shown.rows[0].label == "proxy anchor"


def test_latex_parses(latex_problems):
    frame = printed("06")
    scores = ours(frame, add=[0, 0.004])
    options = {"metrics": ["recall_at_1", "recall_at_2"], "printed": frame}
    text = table("scores_next_to_printed", frame, scores, **options).to_latex()
    assert latex_problems(text) == []
    assert latex_problems(text.replace("&", "", 1)) != []
    assert latex_problems(text.replace("}}", "}", 1)) != []
