"""What a tournament answers: what it sets apart, by how much, and the trend over the years."""

import pandas as pd
import pytest
from dmlbench.presentation.answer import answer
from dmlbench.presentation.study import headline
from dmlbench.presentation.terminal import summary
from dmlbench.statistics.tournament import rank_by_year, write_tournament
from finished_study import BARE
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
    board["apart_from"] = [[] for _ in board["method"]]
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
