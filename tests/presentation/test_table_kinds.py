"""The kinds of tables against cells known by hand."""

import numpy as np
import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.statistics.tournament import write_tournament
from kinds import build
from run_files import run_files


def made(kind, methods, **options):
    given = {"id": "t", "title": "T", "methods": methods, "selection": "best_test_epoch"}
    return build("tables", kind, **(given | options))


def test_scores_by_method_as_csv(synthetic_scores, titles, methods):
    kind = made("scores_by_method", methods, metrics=["recall_at_1", "recall_at_2"])
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
    kind = made("scores_by_method", methods, metrics=["recall_at_1"], years=years)
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
    kind = made("scores_by_method", methods, metrics=["recall_at_1"], selection="last_epoch")
    table = kind(synthetic_scores(dims=[64], seeds=[0, 1, 2]), titles)
    assert table.texts()[0] == [("59.00 ± 1.00", "second")]
    assert "over 3 seeds" in table.caption
    assert "est-selected" not in table.to_markdown()
    assert [column.header for column in table.columns] == ["R@1"]


def test_every_format_of_test_selected_scores_says_so(synthetic_scores, titles, methods):
    table = made("scores_by_method", methods, metrics=["recall_at_1"])(synthetic_scores(), titles)
    for text in (table.to_markdown(), table.to_latex(), table.to_html()):
        assert "Test-selected" in text
        assert "R@1, last epoch" in text


def test_a_method_without_scores_has_no_row_and_a_gap_is_a_dash(synthetic_scores, titles, methods):
    scores = synthetic_scores()
    scores = scores[(scores.method != "triplet") | (scores.embedding_dim == 64)]
    kind = made("scores_by_method", [*methods, "margin"], metrics=["recall_at_1"])
    table = kind(scores, titles)
    assert [row.label for row in table.rows] == [
        "Contrastive",
        "Triplet",
        "ProxyAnchor",
        "Untrained network",
    ]
    assert [text for text, _ in table.texts()[1]] == ["50.00", "48.00", "–", "–"]


def test_two_networks_must_be_distinguished(synthetic_scores, titles, methods):
    scores = pd.concat([synthetic_scores(), synthetic_scores(network="resnet50")])
    with pytest.raises(UserError, match=r"several values of network \(convnet, resnet50\)"):
        made("scores_by_method", methods, metrics=["recall_at_1"])(scores, titles)


def test_two_recipes_are_not_averaged(synthetic_scores, titles, methods):
    scores = pd.concat([synthetic_scores(), synthetic_scores(recipe="long")])
    with pytest.raises(UserError, match=r"of several recipes \(long, short\)"):
        made("scores_by_method", methods, metrics=["recall_at_1"])(scores, titles)


def test_tournament_as_csv(synthetic_scores, titles, methods):
    table = made("tournament", methods)(synthetic_scores(), titles)
    assert table.to_csv() == (
        "Loss,total_rank,average_rank,rank_std,best_rank,worst_rank,ties\n"
        "ProxyAnchor,2,1.00,0.00,1,1,0\n"
        "Contrastive,4,2.00,0.00,2,2,0\n"
        "Triplet,6,3.00,0.00,3,3,0\n"
    )
    assert "Test-selected" in table.caption
    # Three methods in the same order twice: one of the 3! orders of the second.
    (note,) = table.notes
    assert "p = 0.167." in note
    assert "2.34" in note


@pytest.mark.parametrize("queried", [False, True])
def test_a_tournament_read_from_its_file_is_the_same_table(
    synthetic_scores, titles, methods, tmp_path, queried
):
    scores = synthetic_scores()
    rows, files = run_files(scores, tmp_path / "runs")
    queries = []
    for row in rows if queried else ():
        share = {"contrastive": 0.6, "triplet": 0.5}.get(row["method"], 0.8)
        hits = np.arange(100) < 100 * share
        found = pd.DataFrame({"image_id": range(100), "first_rank": 2 - hits})
        queries.append(tmp_path / f"{len(queries)}.parquet")
        found.assign(role="test", selection="best_test_epoch").to_parquet(queries[-1], index=False)
    board = {suffix: tmp_path / f"tournament.{suffix}" for suffix in ("csv", "parquet")}
    rule = {"metric": "recall_at_1", "methods": methods, "selection": "best_test_epoch"}
    write_tournament(rows, files, **board, queries=queries, rehearsal=True, **rule)
    computed = made("tournament", methods, rows=rows, queries=queries)(scores, titles)
    read = made("tournament", methods, board=[board["parquet"]])(scores.iloc[:0], titles)
    assert read.to_csv() == computed.to_csv()
    assert read.to_markdown() == computed.to_markdown()
    assert (read.caption, read.notes) == (computed.caption, computed.notes)


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
    table = made("tournament", methods, rows=rows, queries=files)(scores, titles)
    header, first, *_ = table.to_csv().splitlines()
    assert header.endswith(",ties,rank_low,rank_high,percent_first")
    assert first == "ProxyAnchor,2,1.00,0.00,1,1,0,1.00,1.00,100"
    assert len(table.notes) == 2


def test_ties_show_halves_and_a_note(synthetic_scores, titles, methods):
    scores = synthetic_scores()
    tied = (scores.method == "triplet") & (scores.embedding_dim == 64)
    scores.loc[tied, "value"] += 0.10
    table = made("tournament", methods)(scores, titles)
    assert table.to_csv().splitlines()[2:] == [
        "Contrastive,4.5,2.25,0.35,2.0,2.5,1",
        "Triplet,5.5,2.75,0.35,2.5,3.0,1",
    ]
    assert table.notes[0] == "Equal scores share the average of their ranks."


def test_an_unknown_option_is_named(methods):
    with pytest.raises(UserError, match="unknown hyper-parameter of presentation/tables/tournamen"):
        made("tournament", methods, sort="name")


def of_variants(synthetic_scores, seeds, **gains):
    """Scores of the last epoch at one size, and the same with each variant's gains by seed."""
    plain = synthetic_scores(dims=[64], seeds=seeds)
    parts = [plain]
    for variant, by_seed in gains.items():
        gained = plain.seed.map(dict(zip(seeds, by_seed, strict=True)))
        parts.append(plain.assign(variant=variant, value=plain.value + gained))
    return pd.concat(parts)


def paired(methods, **options):
    given = {"metrics": ["recall_at_1"], "selection": "last_epoch"}
    return made("paired_differences", methods, **(given | options))


def test_paired_differences_have_an_interval_a_test_and_the_mean_over_losses(
    synthetic_scores, titles, methods
):
    scores = of_variants(synthetic_scores, [0, 1, 2], profs=[0.01, 0.02, 0.03])
    table = paired(methods)(scores, titles | {"profs": "PROFS"})
    header, contrastive, triplet, proxy_anchor, together = table.to_csv().splitlines()
    assert header == "Loss,reference,value,difference,low,high,p,sign,holm"
    # Mean 2, standard deviation 1: 2 -+ 4.303 / sqrt(3), and t = 2 sqrt(3) with 2 degrees.
    assert contrastive == '"Contrastive, PROFS",59.00,61.00,+2.00,-0.48,+4.48,0.074,0.250,0.223'
    assert triplet.startswith('"Triplet, PROFS",49.00,51.00,+2.00')
    assert proxy_anchor.startswith('"ProxyAnchor, PROFS",79.00,81.00,+2.00')
    assert together == '"All losses, PROFS",62.33,64.33,+2.00,-0.48,+4.48,0.074,0.250,'
    assert table.rows[-1].baseline
    assert "less that of the loss alone" in table.caption
    assert "3 pairs" in table.caption
    assert "mean over losses, seed by seed" in table.caption
    _, chosen = table.notes
    assert chosen.startswith("Interval (95 %) and p by Student's t over pairs of one seed")
    assert chosen.endswith("R@1 (0.20); R@1 of all losses (0.20).")


def test_paired_differences_of_one_seed_say_that_the_interval_is_unknown(
    synthetic_scores, titles, methods
):
    scores = of_variants(synthetic_scores, [0], profs=[0.01], profs_hncm=[0.03])
    scores = scores[scores.method == "triplet"]
    shown = scores[scores.variant != ""]
    table = paired(methods, against="profs")(shown, titles | {"profs_hncm": "PROFS-HNCM"})
    assert table.to_csv() == (
        'Loss,reference,value,difference\n"Triplet, PROFS-HNCM",49.00,51.00,+2.00\n'
    )
    assert table.notes == ("One pair of trainings: the interval of the difference is unknown.",)
    assert "1 pair of trainings" in table.caption
    with pytest.raises(UserError, match="no test scores of nmi at last_epoch"):
        paired(methods, metrics=["nmi"])(scores, titles)


def test_paired_differences_of_methods(synthetic_scores, titles, methods):
    options = {"between": "method", "against": "triplet"}
    table = paired(methods, **options)(synthetic_scores(dims=[64], seeds=[0, 1, 2]), titles)
    assert [row.label for row in table.rows] == ["Contrastive", "ProxyAnchor"]
    assert [row.cells[2].value for row in table.rows] == pytest.approx([10, 30])
    assert "less that of Triplet" in table.caption


def test_paired_differences_of_a_change_and_of_several_metrics(synthetic_scores, titles, methods):
    scores = of_variants(synthetic_scores, [0], mined=[0.1], **{"mined,p=0.1": [0.15]})
    options = {"change": ["p"], "metrics": ["recall_at_1", "recall_at_2"]}
    table = paired(methods, **options)(scores, titles)
    assert {row.panel for row in table.rows} == {"R@1", "R@2"}
    assert [row.cells[2].value for row in table.rows] == pytest.approx([5] * 8)
    with pytest.raises(UserError, match="change is of variants"):
        paired(methods, change=["p"], against="mined")


def test_the_spread_of_methods_begins_with_the_reference(synthetic_scores, titles, methods):
    narrow = synthetic_scores(dims=[64], variant="a")
    narrow["value"] /= 2
    scores = pd.concat([narrow, synthetic_scores(dims=[64], variant="b")])
    options = {"id": "t", "title": "T", "selection": "best_test_epoch", "against": "b"}
    kind = build("tables", "method_spread", metrics=["recall_at_1"], **options)
    table = kind(scores[scores.method != "untrained"], titles)
    deviation = np.std([60, 50, 80], ddof=1)
    assert [row.label for row in table.rows] == ["b", "a"]
    assert [row.cells[0].value for row in table.rows] == pytest.approx([deviation, deviation / 2])


def derivatives(**changes):
    values = {"printed_is_right": 1.0, "largest_difference": 0.0, "difference_at_example": 0.0}
    values |= {"printed_x": 1.0, "printed_y": -0.0, "autograd_x": 1.0, "autograd_y": 0.0}
    return pd.DataFrame(
        [
            {"method": "ranking", "variant": f"point={point}", "seed": 0, "metric": metric}
            | {"value": (changes if point == "positive" else {}).get(metric, value)}
            for point in ("anchor", "positive", "negative")
            for metric, value in values.items()
        ]
    )


def test_printed_derivatives_are_right_or_have_a_counter_example():
    kind = build("tables", "printed_derivatives", id="t", title="T", losses=["ranking"])
    wrong = {"printed_is_right": 0.0, "largest_difference": 2.5, "printed_x": 0.5}
    table = kind(derivatives(**wrong), {"ranking": "Ranking"})
    assert [row.label for row in table.rows] == [
        f"Ranking, {point}" for point in ("anchor", "positive", "negative")
    ]
    right, other, _ = ([text for text, _ in texts] for texts in table.texts())
    assert right == ["right", "–", "(1.0000, 0.0000)", "(1.0000, 0.0000)"]
    assert other == ["wrong", "2.5000", "(0.5000, 0.0000)", "(1.0000, 0.0000)"]
    assert "1 of 3 printed ones are wrong" in table.caption


def test_a_loss_without_printed_derivatives_is_an_error():
    kind = build("tables", "printed_derivatives", id="t", title="T", losses=["triplet"])
    with pytest.raises(UserError, match="unknown loss with printed derivatives 'triplet'"):
        kind(derivatives(), {})


def test_constants_are_next_to_the_printed_ones():
    rows = [{"label": "One", "metric": "one", "printed": "12/7"}, {"label": "Two", "metric": "two"}]
    scores = pd.DataFrame({"metric": ["one", "two"], "value": [12 / 7, 2.0]})
    kind = build("tables", "constants", numbers=rows)
    assert kind(scores, {}).to_csv() == "Number,printed,computed\nOne,12/7,1.7143\nTwo,,2.0000\n"
    rows[0]["metric"] = "three"
    with pytest.raises(UserError, match="unknown metric of the experiment 'three'"):
        build("tables", "constants", numbers=rows)(scores, {})
