"""The kinds of tables against cells known by hand."""

import numpy as np
import pandas as pd
import pytest
from dmlbench import registry
from dmlbench.errors import UserError
from run_files import run_files


def build(kind, methods, **options):
    given = {"id": "t", "title": "T", "methods": methods, "selection": "best_test_epoch"}
    return registry.build("presentation/tables", kind, **(given | options))


def test_scores_by_method_as_csv(synthetic_scores, titles, methods):
    kind = build("scores_by_method", methods, metrics=["recall_at_1", "recall_at_2"])
    assert kind(synthetic_scores(), titles).to_csv() == (
        "Loss,d64_recall_at_1,d64_recall_at_2,d64_recall_at_1_last_epoch,"
        "d128_recall_at_1,d128_recall_at_2,d128_recall_at_1_last_epoch\n"
        "Contrastive,60.00,70.00,58.00,61.00,71.00,59.00\n"
        "Triplet,50.00,60.00,48.00,51.00,61.00,49.00\n"
        "ProxyAnchor,80.00,90.00,78.00,81.00,91.00,79.00\n"
        "Untrained network,20.00,30.00,20.00,21.00,31.00,21.00\n"
    )


def test_scores_by_method_as_markdown(synthetic_scores, titles, methods):
    years = {"contrastive": 2006, "proxy_anchor": 2020}
    kind = build("scores_by_method", methods, metrics=["recall_at_1"], years=years)
    assert kind(synthetic_scores(dims=[64]), titles).to_markdown() == (
        "**T**\n"
        "\n"
        "Scores on the test classes in percent. Test-selected: the epoch with the best test score "
        "is shown. The last-epoch column is free of that choice. Best in bold, second best "
        "underlined.\n"
        "\n"
        "| Loss               |     64-D R@1 | 64-D R@1, last epoch |\n"
        "| :----------------- | -----------: | -------------------: |\n"
        "| Contrastive (2006) | <u>60.00</u> |         <u>58.00</u> |\n"
        "| Triplet            |        50.00 |                48.00 |\n"
        "| ProxyAnchor (2020) |    **80.00** |            **78.00** |\n"
        "| Untrained network  |        20.00 |                20.00 |\n"
    )


def test_seeds_give_mean_and_deviation(synthetic_scores, titles, methods):
    kind = build("scores_by_method", methods, metrics=["recall_at_1"], selection="last_epoch")
    table = kind(synthetic_scores(dims=[64], seeds=[0, 1, 2]), titles)
    assert table.texts()[0] == [("59.00 ± 1.00", "second")]
    assert "over 3 seeds" in table.caption
    assert "est-selected" not in table.to_markdown()
    assert [column.header for column in table.columns] == ["R@1"]


def test_every_face_of_test_selected_scores_says_so(synthetic_scores, titles, methods):
    table = build("scores_by_method", methods, metrics=["recall_at_1"])(synthetic_scores(), titles)
    for text in (table.to_markdown(), table.to_latex(), table.to_html()):
        assert "Test-selected" in text
        assert "R@1, last epoch" in text


def test_a_method_without_scores_has_no_row_and_a_gap_is_a_dash(synthetic_scores, titles, methods):
    scores = synthetic_scores()
    scores = scores[(scores.method != "triplet") | (scores.embedding_dim == 64)]
    kind = build("scores_by_method", [*methods, "margin"], metrics=["recall_at_1"])
    table = kind(scores, titles)
    assert [row.label for row in table.rows] == [
        "Contrastive",
        "Triplet",
        "ProxyAnchor",
        "Untrained network",
    ]
    assert [text for text, _ in table.texts()[1]] == ["50.00", "48.00", "–", "–"]


def test_two_networks_must_be_told_apart(synthetic_scores, titles, methods):
    scores = pd.concat([synthetic_scores(), synthetic_scores(network="resnet50")])
    with pytest.raises(UserError, match=r"several values of network \(convnet, resnet50\)"):
        build("scores_by_method", methods, metrics=["recall_at_1"])(scores, titles)
    kind = build("scores_by_method", methods, metrics=["recall_at_1"], network="resnet50")
    assert len(kind(scores, titles).rows) == 4
    with pytest.raises(UserError, match=r"no scores of recall_at_1 .* for network mlp"):
        build("scores_by_method", methods, metrics=["recall_at_1"], network="mlp")(scores, titles)


def test_two_recipes_are_not_averaged(synthetic_scores, titles, methods):
    scores = pd.concat([synthetic_scores(), synthetic_scores(recipe="long")])
    with pytest.raises(UserError, match="several recipes"):
        build("scores_by_method", methods, metrics=["recall_at_1"])(scores, titles)


def test_tournament_as_csv(synthetic_scores, titles, methods):
    table = build("tournament", methods)(synthetic_scores(), titles)
    assert table.to_csv() == (
        "Loss,total_rank,average_rank,rank_std,best_rank,worst_rank,ties\n"
        "ProxyAnchor,2,1.00,0.00,1,1,0\n"
        "Contrastive,4,2.00,0.00,2,2,0\n"
        "Triplet,6,3.00,0.00,3,3,0\n"
    )
    assert "Test-selected" in table.caption
    # Three methods in the same order twice: chi-square 4 with 2 degrees, p = exp(-2).
    (note,) = table.notes
    assert "p = 0.14." in note
    assert "2.34" in note


def test_queries_add_intervals_and_the_probability_of_being_first(
    synthetic_scores, titles, methods, tmp_path
):
    scores = synthetic_scores()
    rows, _ = run_files(scores, tmp_path / "runs")
    files = []
    for row in rows:
        hits = np.arange(100) < 100 * {"contrastive": 0.6, "triplet": 0.5}.get(row["method"], 0.8)
        found = pd.DataFrame({"image_id": range(100), "first_rank": 2 - hits})
        files.append(tmp_path / f"{len(files)}.parquet")
        found.assign(role="test", selection="best_test_epoch").to_parquet(files[-1], index=False)
    table = build("tournament", methods, rows=rows, queries=files)(scores, titles)
    header, first, *_ = table.to_csv().splitlines()
    assert header.endswith(",ties,rank_low,rank_high,percent_first")
    assert first == "ProxyAnchor,2,1.00,0.00,1,1,0,1.00,1.00,100"
    assert len(table.notes) == 2


def test_ties_show_halves_and_a_note(synthetic_scores, titles, methods):
    scores = synthetic_scores()
    tied = (scores.method == "triplet") & (scores.embedding_dim == 64)
    scores.loc[tied, "value"] += 0.10
    table = build("tournament", methods)(scores, titles)
    assert table.to_csv().splitlines()[2:] == [
        "Contrastive,4.5,2.25,0.35,2.0,2.5,1",
        "Triplet,5.5,2.75,0.35,2.5,3.0,1",
    ]
    assert table.notes[0] == "Equal scores share the average of their ranks."


def test_an_unknown_option_is_named(methods):
    with pytest.raises(UserError, match="unknown hyper-parameter of presentation/tables/tournamen"):
        build("tournament", methods, sort="name")
