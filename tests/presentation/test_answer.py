"""The sentences that answer a study's question."""

import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.presentation.answer import answer
from dmlbench.presentation.study import headline
from dmlbench.presentation.table import write
from dmlbench.presentation.tables.method_spread import MethodSpread
from dmlbench.presentation.terminal import summary
from dmlbench.statistics.tournament import rank_by_year, write_tournament
from finished_study import BARE
from invented import invent
from run_files import run_files


def ranked(folder, scores, titles, methods, **study):
    """A study with a tournament of these scores and nothing else."""
    folder.mkdir(parents=True)
    scores.to_parquet(folder / "scores.parquet")
    rows, files = run_files(scores, folder / "runs")
    options = {"metric": "recall_at_1", "methods": methods, "selection": "best_test_epoch"}
    board = {suffix: folder / f"tournament.{suffix}" for suffix in ("csv", "parquet")}
    write_tournament(rows, files, **board, **options)
    return BARE | {
        "question": "Which loss?",
        **options,
        "ranked": rows,
        "titles": titles,
        "scores": folder / "scores.parquet",
        "tournament": board,
        "tables": [],
        **study,
    }


def test_a_tournament_that_sets_nothing_apart_says_so(tmp_path, synthetic_scores, titles, methods):
    (said,) = answer(ranked(tmp_path / "demo", synthetic_scores(), titles, methods))
    # Three losses in the same order twice: one of the 3! orders of the second.
    assert said == (
        "No significant difference between 3 losses in 2 experiments (Friedman test: p = 0.167, "
        "Kendall's W = 1.00; mean ranks 2.34 apart would be). ProxyAnchor has the best mean "
        "rank, 1.00, 20.00 points above Contrastive, which may be due to chance; with one seed "
        "only, another seed may change the order."
    )


def test_a_clear_winner_is_set_apart_from_all_but_those_that_are_near(
    tmp_path, synthetic_scores, titles, methods
):
    scores = synthetic_scores(dims=(16, 32, 64, 128), seeds=(0, 1))
    (said,) = answer(ranked(tmp_path / "demo", scores, titles, methods))
    # Nemenyi's difference of 3 methods in 4 experiments: 2.344 * sqrt(3 * 4 / (6 * 4)) = 1.66.
    assert said == (
        "ProxyAnchor has the best mean rank, 1.00, 20.00 points above Contrastive, and differs "
        "significantly from all but Contrastive (critical difference 1.66; 3 losses in 4 "
        "experiments, Friedman test: p = 0.00463, Kendall's W = 1.00)."
    )


def test_a_difference_that_sets_no_loss_apart_from_the_first_is_said_as_one(
    tmp_path, synthetic_scores, titles, methods
):
    study = ranked(tmp_path / "demo", synthetic_scores(dims=(1, 2, 4, 8)), titles, methods)
    board = pd.read_parquet(study["tournament"]["parquet"]).assign(critical_difference=2.5)
    board.to_parquet(study["tournament"]["parquet"], index=False)
    (said,) = answer(study)
    assert said == (
        "The Friedman test finds significant differences between 3 losses in 4 experiments (p = "
        "0.00463, Kendall's W = 1.00), but the first does not differ significantly from any single "
        "loss (critical difference 2.50). ProxyAnchor has the best mean rank, 1.00, 20.00 points "
        "above Contrastive; with one seed only, another seed may change the order."
    )
    found = headline(study | {"baseline": None})
    assert not found.apart
    caveat = "No other method differs from the first by more than the critical difference."
    assert caveat in found.caveats


def test_one_experiment_tests_nothing(tmp_path, synthetic_scores, titles, methods):
    scores = synthetic_scores(dims=[64])
    (said,) = answer(ranked(tmp_path / "demo", scores, titles, methods))
    assert said.startswith("ProxyAnchor has the best R@1 of 3 losses, 20.00 points above")
    assert "This is one experiment; with one seed only" in said


def test_draws_are_of_what_was_drawn(tmp_path, synthetic_scores, titles, methods):
    for seeds, drawn in (((0,), "test images."), ((0, 1), "test images and seeds.")):
        scores = synthetic_scores(dims=[64], seeds=seeds)
        study = ranked(tmp_path / str(len(seeds)), scores, titles, methods)
        file = study["tournament"]["parquet"]
        board = pd.read_parquet(file).assign(probability_first=[0.75, 0.25, 0])
        board.to_parquet(file, index=False)
        (said,) = answer(study)
        assert f"first in 75 % of draws of {drawn}" in said


def test_an_experiment_with_more_seeds_counts_once_in_the_lead(
    tmp_path, synthetic_scores, titles, methods
):
    scores = synthetic_scores(dims=(16, 64), seeds=(0, 1, 2))
    first, second = scores.method == "proxy_anchor", scores.method == "contrastive"
    scores.loc[first & (scores.embedding_dim == 16), "value"] += 0.1
    # By runs the second would gain from its many seeds in the easier experiment.
    lost = first & (scores.embedding_dim == 16) | second & (scores.embedding_dim == 64)
    kept = scores[~(lost & (scores.seed > 0))].reset_index(drop=True)
    (said,) = answer(ranked(tmp_path / "demo", kept, titles, methods))
    assert "25.00 points above Contrastive" in said


def test_years_are_correlated_with_mean_ranks():
    board = pd.DataFrame({"method": list("abcde"), "average_rank": [1, 2, 3, 4, 5.0]})
    found = rank_by_year(board, {"a": 2020, "b": 2019, "c": 2017, "d": 2015, "e": 2006})
    assert found.correlation == pytest.approx(-1)
    assert found.losses == 5
    assert found._replace(losses=10).detectable == pytest.approx(0.8, abs=0.01)
    assert rank_by_year(board, {"a": 2020, "b": 2019}) is None
    assert rank_by_year(board, dict.fromkeys("abcde", 2020)) is None


def differences(tmp_path, rows, **options):
    csv = tmp_path / "differences.csv"
    columns = ["panel", "Loss", "reference", "value", "difference", "low", "high", "p", "holm"]
    pd.DataFrame(rows, columns=columns).to_csv(csv, index=False)
    table = {
        "id": "differences",
        "csv": csv,
        "kind": "paired_differences",
        "options": {"metrics": ["recall_at_1", "map_at_r"], **options},
    }
    return BARE | {"tournament": None, "titles": {"profs": "PROFS"}, "tables": [table]}


def test_differences_answer_with_their_mean_and_what_is_set_apart(tmp_path):
    rows = [
        ("R@1", "Margin, PROFS", 70, 66, "-4.00", "-5.00", "-3.00", 0.001, 0.004),
        ("R@1", "Triplet, PROFS", 70, 69, "-1.00", "-4.00", "+2.00", 0.2, 0.2),
        ("R@1", "All losses, PROFS", 70, 67.5, "-2.50", "-4.00", "-1.00", 0.01, None),
        ("MAP@R", "Margin, PROFS", 30, 40, "+10.00", "+9.00", "+11.00", 0.001, 0.004),
    ]
    together, single = answer(differences(tmp_path, rows))
    assert together == (
        "R@1 changes by −2.50 points [−4.00, −1.00] with PROFS, compared with the loss alone (mean "
        "over 2 losses, 95 % interval)."
    )
    assert single == (
        "Compared with the loss alone, none of 2 is significantly higher in R@1, 1 significantly "
        "lower and 1 not significantly different (p < 0.05 after Holm's correction; differences of "
        "up to 4.00 points remain possible); differences range from −4.00 points "
        "[−5.00, −3.00] (Margin, PROFS) to −1.00 points [−4.00, +2.00] (Triplet, PROFS)."
    )


def test_what_training_adds_to_raw_features_comes_first(tmp_path, synthetic_scores):
    rows = [
        ("R@1", "Contrastive", 70, 69, "-1.00", "-1.50", "-0.50", 0.01, 0.01),
        ("R@1", "ProxyAnchor", 70, 70.5, "+0.50", "-0.25", "+1.25", 0.2, 0.2),
        ("R@1", "Triplet", 70, 69.5, "-0.50", "-1.50", "+0.50", 0.3, 0.3),
        ("MAP@R", "Contrastive", 30, 40, "+10.00", "+9.00", "+11.00", 0.001, 0.004),
    ]
    given = {"between": "method", "against": "raw_features"}
    scores = synthetic_scores(dims=[64], seeds=(0, 1, 2)).replace("untrained", "raw_features")
    scores.to_parquet(tmp_path / "scores.parquet")
    seeds = {"scores": tmp_path / "scores.parquet"}
    # Half the interval is 4.303 deviations over the root of 3, so one deviation is 0.302.
    assert answer(differences(tmp_path, rows, **given) | seeds) == [
        "Training adds +0.50 points [−0.25, +1.25] of R@1 over the network's own features "
        "(ProxyAnchor, the best of 3 losses; 95 % interval over 3 seeds). The interval includes 0: "
        "if the difference is as large as it looks, about 6 seeds would show it with a probability "
        "of 80%. Below the features: Triplet (−0.50 points [−1.50, +0.50]) and Contrastive (−1.00 "
        "points [−1.50, −0.50])."
    ]
    (said,) = answer(
        differences(tmp_path, [(*rows[1][:5], "+0.25", *rows[1][6:])], **given) | seeds
    )
    assert said.endswith(
        "features (ProxyAnchor; 95 % interval over 3 seeds). Below the features: no loss."
    )


def test_each_data_set_has_a_sentence_of_its_own(tmp_path):
    rows = [
        ("CUB, R@1", "Margin, PROFS", 70, 74, "+4.00", "+3.00", "+5.00", 0.001, 0.004),
        ("CUB, MAP@R", "Margin, PROFS", 30, 40, "+10.00", "+9.00", "+11.00", 0.001, 0.004),
        ("SOP, R@1", "Margin, PROFS", 60, 59, "-1.00", "-2.00", "+0.00", 0.05, 0.05),
    ]
    (said,) = answer(differences(tmp_path, rows))
    assert said == (
        "On CUB, compared with the loss alone, 1 of 1 is significantly higher in R@1, none "
        "significantly lower and none not significantly different (p < 0.05 after Holm's "
        "correction); the difference is +4.00 points [+3.00, +5.00] (Margin, PROFS). On SOP, "
        "compared with the loss alone, none of 1 is significantly higher in R@1, none "
        "significantly lower and 1 not significantly different (p < 0.05 after Holm's correction; "
        "differences of up to 2.00 points remain possible); the difference is −1.00 points "
        "[−2.00, +0.00] (Margin, PROFS)."
    )


def test_one_pair_of_trainings_has_no_interval(tmp_path):
    study = differences(tmp_path, [], against="hard")
    pd.DataFrame(
        {
            "panel": ["CUB, R@1"] * 3 + ["SOP, R@1"] * 3,
            "Loss": ["Margin, PROFS", "Triplet, PROFS", "All losses, PROFS"] * 2,
            "difference": ["+1.00", "+3.00", "+2.00", "-1.00", "+0.50", "-0.25"],
        }
    ).to_csv(study["tables"][0]["csv"], index=False)
    together, single = answer(study)
    assert together == (
        'On CUB, R@1 changes by +2.00 points with PROFS, compared with "hard" (mean over 2 losses, '
        "one pair of trainings each). On SOP, R@1 changes by −0.25 points with PROFS, compared "
        'with "hard" (mean over 2 losses, one pair of trainings each).'
    )
    assert single.endswith(
        "On SOP, R@1 changes by −1.00 points with Margin, PROFS and +0.50 points with Triplet, "
        'PROFS, compared with "hard", in one pair of trainings.'
    )


def spread_answer(scores, titles, csv):
    """The answer of a study whose one table has the spread of these tuned losses."""
    kind = MethodSpread(titles=titles, metrics=["recall_at_1"], against="tuned")
    write(kind(scores[scores.method != "untrained"]), csv=csv)
    options = {"metrics": ["recall_at_1"], "against": "tuned"}
    table = {"id": "spread", "csv": csv, "kind": "method_spread", "options": options}
    return answer(BARE | {"tournament": None, "titles": titles, "tables": [table]})


def test_spreads_of_several_data_sets_are_distinguished(tmp_path, synthetic_scores, titles):
    scores = pd.concat(
        [
            synthetic_scores(dims=[64], seeds=(0, 1), dataset=dataset, variant="tuned")
            for dataset in ("cub200", "sop")
        ]
    )
    # Errors of the losses are halved on SOP, and so is their spread.
    half = scores.dataset == "sop"
    scores.loc[half, "value"] = 1 - (1 - scores.loc[half, "value"]) / 2
    titles = titles | {"cub200": "CUB", "sop": "SOP", "tuned": "tuned", "recall_at_1": "R@1"}
    (said,) = spread_answer(scores, titles, tmp_path / "spread.csv")
    # Of 60, 50 and 80 percent, n - 1.
    assert said == (
        "The losses' R@1 has a standard deviation of 15.28 points tuned on CUB [15.28, 15.28] and "
        "7.64 points tuned on SOP [7.64, 7.64] (95 % interval over seeds)."
    )


def test_the_spread_of_one_seed_has_no_interval(tmp_path, synthetic_scores, titles):
    scores = synthetic_scores(dims=[64], variant="tuned")
    (said,) = spread_answer(scores, titles, tmp_path / "spread.csv")
    assert said.endswith("15.28 points tuned (one seed).")


@pytest.mark.slow
def test_can2019_is_answered_by_the_losses_with_and_without_a_miner(tmp_path):
    page = invent("can2019", tmp_path, queries=12, figures=False)
    mined, unmined = answer(page)
    scores = pd.read_parquet(page["scores"])
    chosen = scores[(scores.metric == "recall_at_1") & (scores.selection == "best_test_epoch")]
    chosen = chosen[(chosen.network == "googlenet_torchvision") & (chosen.dataset == "sop")]
    for said, methods, reference in (
        (mined, ["contrastive", "triplet", "margin"], "hard"),
        (unmined, ["lifted_structure", "n_pair", "angular", "multi_similarity"], ""),
    ):
        arms = chosen[chosen.method.isin(methods)].groupby("variant")["value"].mean()
        gain = 100 * (arms["profs"] - arms[reference])
        assert f"On Stanford Online Products, R@1 changes by {gain:+.2f}".replace("-", "−") in said
        assert f"mean over {len(methods)} losses, one pair of trainings each" in said


def test_a_study_names_the_tables_that_answer(tmp_path):
    rows = [("R@1", "Margin", 70, 66, "-4.00", "-5.00", "-3.00", 0.001, 0.004)]
    study = differences(tmp_path, rows, between="method", against="triplet")
    correlations = tmp_path / "correlations.csv"
    correlations.write_text(
        "With R@1,pearson,low,high,spearman,points\n"
        "pi intra,+0.64,+0.36,+0.88,+0.73,14\n"
        "pi inter,+0.28,-0.34,+0.72,+0.13,14\n"
        "rho,-0.85,-0.94,-0.74,-0.84,14\n"
    )
    other = {"id": "c", "csv": correlations, "kind": "correlations", "options": {}}
    study |= {"tables": [*study["tables"], other], "answer": ["c", "differences"]}
    first, second = answer(study)
    assert first == (
        "R@1 correlates with rho, r = −0.85 [−0.94, −0.74] and pi intra, r = +0.64 [+0.36, +0.88]; "
        "with pi inter [−0.34, +0.72] the interval includes 0 (Pearson's correlation over 14 "
        "points, 95 % interval)."
    )
    assert second.startswith("Compared with triplet, none of 1 is significantly higher in R@1, 1")


def test_correlations_are_said_of_each_data_set(tmp_path):
    csv = tmp_path / "correlations.csv"
    csv.write_text(
        "panel,With R@1,pearson,low,high,spearman,points\n"
        "CUB,rho,-0.85,-0.94,-0.74,-0.84,14\n"
        "SOP,rho,+0.10,-0.34,+0.72,+0.13,12\n"
    )
    table = {"id": "c", "csv": csv, "kind": "correlations", "options": {}}
    (said,) = answer(BARE | {"tournament": None, "titles": {}, "tables": [table]})
    assert said == (
        "On CUB, R@1 correlates with rho, r = −0.85 [−0.94, −0.74] (Pearson's correlation over 14 "
        "points, 95 % interval). On SOP, R@1 does not correlate significantly; with rho "
        "[−0.34, +0.72] the interval includes 0 (Pearson's correlation over 12 "
        "points, 95 % interval)."
    )


def test_a_table_without_an_answer_is_no_answer(tmp_path):
    plain = {"id": "scores", "kind": "scores_by_method", "options": {}, "csv": tmp_path / "none"}
    study = BARE | {"tournament": None, "titles": {}, "tables": [plain]}
    assert answer(study) == []
    with pytest.raises(UserError, match=r"scores_by_method.*allowed: "):
        answer(study | {"answer": ["scores"]})


def test_the_terminal_says_question_and_answer(tmp_path, synthetic_scores, titles, methods):
    study = ranked(
        tmp_path / "demo",
        synthetic_scores(),
        titles,
        methods,
        title="Losses",
        baseline="untrained",
        figures=[],
    )
    lines = summary(study).splitlines()
    assert lines[3] == "Which loss?"
    assert lines[4].startswith("No significant difference between")
    assert max(map(len, lines[:12])) <= 78


def test_a_tournament_of_one_method_answers_nothing(tmp_path, synthetic_scores, titles):
    scores = synthetic_scores()
    alone = scores[scores.method == "contrastive"]
    assert answer(ranked(tmp_path / "demo", alone, titles, ["contrastive"])) == []
