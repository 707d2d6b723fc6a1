"""The sentences that answer a study's question."""

import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.presentation.answer import answer
from dmlbench.presentation.table import write
from finished_study import BARE
from invented import invent
from kinds import build


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
        ("R@1", "Triplet, PROFS", 70, 69, "-1.00", "-1.90", "-0.10", 0.04, 0.08),
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
        "up to 1.90 points remain possible); differences range from −4.00 points "
        "[−5.00, −3.00] (Margin, PROFS) to −1.00 points [−1.90, −0.10] (Triplet, PROFS)."
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
    (said,) = answer(differences(tmp_path, rows[:1], **given) | seeds)
    assert said.startswith(
        "Training loses 1.00 points [0.50, 1.50] of R@1 against the network's own features ("
    )
    (said,) = answer(differences(tmp_path, rows[2:3], **given) | seeds)
    assert said.startswith("Training loses 0.50 points [−0.50, 1.50] of R@1 against")


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
    options = {"metrics": ["recall_at_1"], "against": "tuned"}
    kind = build("tables", "method_spread", **options)
    write(kind(scores[scores.method != "untrained"], titles), csv=csv)
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
