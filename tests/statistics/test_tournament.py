"""The tournament against ranks counted by hand, and against the printed tables."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.statistics.aggregation import SCHEMA
from dmlbench.statistics.confidence import read_answers
from dmlbench.statistics.printed import as_scores, read_printed
from dmlbench.statistics.tournament import ranked, ranks, tournament, write_tournament
from hypothesis import given, settings
from hypothesis import strategies as st
from run_files import run_files
from scipy.stats import rankdata

PSOMAS = Path(__file__).parents[2] / "config" / "reference" / "psomas2020"
BY_RECALL = {"metric": "recall_at_1", "selection": "last_epoch"}


def scores(table, seeds=(0,), **common):
    """Scores from {method: value per embedding size}, the same for every seed."""
    rows = [
        {
            "run": f"{method}/{dim}/{seed}",
            "dataset": "glyphs",
            "network": "convnet",
            "embedding_dim": dim,
            "method": method,
            "recipe": "short",
            "variant": "",
            "split": "half",
            "fold": "",
            "seed": seed,
            "role": "test",
            "selection": "last_epoch",
            "metric": "recall_at_1",
            "value": value,
        }
        | common
        for method, values in table.items()
        for dim, value in enumerate(values, start=1)
        for seed in seeds
    ]
    return pd.DataFrame(rows, columns=SCHEMA.names)


def test_ranks_counted_by_hand():
    # Experiment 1: a, b share places 1 and 2, c is third. Experiment 2: c, a, b.
    frame = tournament(
        scores({"a": [0.9, 0.5], "b": [0.9, 0.4], "c": [0.1, 0.6]}),
        methods=["a", "b", "c"],
        **BY_RECALL,
    )
    assert list(frame.method) == ["a", "c", "b"]
    assert list(frame.total_rank) == [3.5, 4, 4.5]
    assert list(frame.average_rank) == [1.75, 2, 2.25]
    assert frame.rank_std.tolist() == pytest.approx([0.125**0.5, 2**0.5, 1.125**0.5])
    assert list(frame.ties) == [1, 0, 1]
    assert list(frame.experiments) == [2, 2, 2]
    assert list(frame.best_rank) == [1.5, 1, 1.5]
    assert list(frame.worst_rank) == [2, 3, 3]


def test_the_printed_totals_come_out_of_the_printed_tables():
    printed = as_scores(read_printed(PSOMAS, ["06", "07", "08"]))
    frame = tournament(
        printed,
        metric="recall_at_1",
        methods=sorted(printed.method.unique()),
        selection="best_test_epoch",
    )
    assert dict(zip(frame.method, frame.total_rank, strict=True)) == {
        "proxy_anchor": 12,
        "soft_triple": 38,
        "multi_similarity": 51,
        "contrastive": 52,
        "lifted_structure": 54,
        "margin": 70,
        "arcface": 79,
        "proxy_nca": 81,
        "triplet": 103,
        "n_pair": 120,
    }
    assert list(frame.experiments.unique()) == [12]
    assert frame.total_rank.is_monotonic_increasing


def test_seeds_are_averaged_before_ranking():
    lucky = scores({"a": [0.9]}, seeds=[0])
    unlucky = scores({"a": [0.1]}, seeds=[1])
    steady = scores({"b": [0.6]}, seeds=[0, 1])
    frame = tournament(pd.concat([lucky, unlucky, steady]), methods=["a", "b"], **BY_RECALL)
    assert list(frame.method) == ["b", "a"]
    assert list(frame.experiments) == [1, 1]


def test_the_noise_of_averaging_does_not_break_a_tie():
    # 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in the last bit.
    one = [scores({"a": [v]}, seeds=[s]) for s, v in enumerate([0.1, 0.2, 0.3])]
    two = [scores({"b": [v]}, seeds=[s]) for s, v in enumerate([0.3, 0.2, 0.1])]
    frame = tournament(pd.concat([*one, *two]), methods=["a", "b"], **BY_RECALL)
    assert list(frame.total_rank) == [1.5, 1.5]


def test_an_absent_method_is_named_with_its_experiment():
    table = scores({"a": [0.9, 0.5], "b": [0.9]})
    with pytest.raises(
        UserError, match=r"method b has no recall_at_1 at last_epoch in .* glyphs/convnet/d2/half"
    ):
        tournament(table, methods=["a", "b"], **BY_RECALL)
    with pytest.raises(UserError, match=r"method z has no"):
        tournament(table, methods=["a", "z"], **BY_RECALL)


def test_nothing_to_rank_and_two_recipes_are_errors():
    table = scores({"a": [0.9]})
    with pytest.raises(UserError, match=r"no scores of nmi at last_epoch .* recall_at_1"):
        tournament(table, methods=["a"], metric="nmi", selection="last_epoch")
    both = pd.concat([table, table.assign(recipe="long")])
    with pytest.raises(UserError, match=r"method a, .* several values of recipe \(long, short\)"):
        tournament(both, methods=["a"], **BY_RECALL)
    both = pd.concat([table, table.assign(variant="warmup5")])
    with pytest.raises(UserError, match=r"method a, .* values of variant \(base, warmup5\)"):
        tournament(both, methods=["a"], **BY_RECALL)


def test_folds_are_experiments_and_methods_may_have_variants_of_their_own():
    table = scores({"a": [0.9], "b": [0.8]}, split="folds")
    both = pd.concat([table.assign(fold="0"), table.assign(fold="1", variant=table.method)])
    assert list(tournament(both, methods=["a", "b"], **BY_RECALL).total_rank) == [2, 4]
    with pytest.raises(UserError, match=r"method b has no .* glyphs/convnet/d1/folds/1"):
        ranks(both[:3], methods=["a", "b"], **BY_RECALL)


def test_other_rules_methods_and_metrics_stay_out():
    table = pd.concat(
        [
            scores({"a": [0.9], "b": [0.8], "guest": [1.0]}),
            scores({"a": [0.1], "b": [0.8]}, selection="best_test_epoch"),
            scores({"a": [0.1], "b": [0.8]}, metric="map_at_r"),
        ]
    )
    frame = tournament(table, methods=["a", "b"], **BY_RECALL)
    assert list(frame.method) == ["a", "b"]
    assert list(frame.total_rank) == [1, 2]


def test_the_lowest_is_first_where_lower_is_better():
    values = pd.DataFrame({"experiment": [0.2, 0.1, 0.3]}, index=["a", "b", "c"])
    assert ranked(values, "violated_constraints")["experiment"].tolist() == [2, 1, 3]
    assert ranked(values, "recall_at_1")["experiment"].tolist() == [2, 3, 1]


def test_the_csv_has_the_agreed_columns(tmp_path):
    table = scores({"a": [0.9, 0.9], "b": [0.8, 0.95]})
    files = {suffix: tmp_path / f"out.{suffix}" for suffix in ("csv", "parquet")}
    ranked = {"methods": ["a", "b"], **BY_RECALL}
    write_tournament(*run_files(table, tmp_path), **files, **ranked)
    # Nemenyi's difference of two methods in two experiments: 1.959964 sqrt(2 * 3 / 12).
    assert (tmp_path / "out.csv").read_text().splitlines() == [
        "method,total_rank,average_rank,rank_std,experiments,ties,best_rank,worst_rank,"
        "rank_low,rank_high,probability_first,unit,friedman_p,critical_difference",
        "a,3,1.5,0.707107,2,0,1,2,,,,,1,1.3859",
        "b,3,1.5,0.707107,2,0,1,2,,,,,1,1.3859",
    ]
    # In full, with what the CSV leaves out: two opposite orders have nothing in common.
    board = pd.read_parquet(files["parquet"])
    board["apart_from"] = board["apart_from"].map(list)
    pd.testing.assert_frame_equal(board, tournament(table, **ranked))
    assert list(board.concordance) == [0, 0]


def test_queries_give_ranks_their_confidence(tmp_path):
    table = scores({"a": [0.5, 0.5], "b": [1.0, 1.0]})
    rows, _ = run_files(table, tmp_path / "runs")
    files = []
    for row in rows:
        found = pd.DataFrame({"image_id": range(40), "label": 0, "role": "test"})
        found["first_rank"] = 1 + (found.image_id % 2 if row["method"] == "a" else 0)
        files.append(tmp_path / f"{len(files)}.parquet")
        found.assign(selection="last_epoch").to_parquet(files[-1], index=False)
    answers = read_answers(rows, files, **BY_RECALL)
    frame = tournament(table, methods=["a", "b"], answers=answers, **BY_RECALL)
    assert list(frame.method) == ["b", "a"]
    assert list(frame.rank_low) == [1, 2]
    assert list(frame.rank_high) == [1, 2]
    assert list(frame.probability_first) == [1, 0]


def test_one_method_has_nothing_to_test():
    frame = tournament(scores({"a": [0.9, 0.9]}), methods=["a"], **BY_RECALL)
    assert frame[["friedman_p", "critical_difference"]].isna().all(axis=None)


def test_one_experiment_has_nothing_to_test():
    frame = tournament(scores({"a": [0.9], "b": [0.8]}), methods=["a", "b"], **BY_RECALL)
    assert frame[["friedman_p", "critical_difference"]].isna().all(axis=None)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=2, max_size=5))
def test_ranks_agree_with_scipy_and_add_up(columns):
    table = {f"m{i}": [v / 5 for v in values] for i, values in enumerate(columns)}
    found = ranks(scores(table), methods=list(table), **BY_RECALL)
    wanted = rankdata(-np.array(list(table.values())), axis=0, method="average")
    np.testing.assert_array_equal(found.to_numpy(), wanted)
    n = len(table)
    assert found.to_numpy().sum() == 3 * n * (n + 1) / 2


def on_splits(means: dict[str, float], splits: int = 5) -> pd.DataFrame:
    """Scores on splits of one data set: each split is as easy for all, noise aside."""
    random = np.random.default_rng(0)
    return pd.concat(
        scores(
            {name: [0.5 + mean + random.normal(0, 0.002)] for name, mean in means.items()},
            split=f"half_draw{split}",
        )
        for split in range(splits)
    )


def test_splits_of_the_same_classes_are_no_independent_experiments():
    table = on_splits({"a": 0.3, "b": 0.2, "c": 0.0, "d": 0.001})
    frame = tournament(table, methods=["a", "b", "c", "d"], **BY_RECALL).set_index("method")
    assert frame["friedman_p"].isna().all()
    assert frame["critical_difference"].isna().all()
    assert (frame["unit"] == "split").all()
    assert frame.loc["a", ["rank_low", "rank_high"]].tolist() == [1, 1]
    assert frame.loc["b", ["rank_low", "rank_high"]].tolist() == [2, 2]
    assert frame.loc["c", ["rank_low", "rank_high"]].tolist() == [3, 4]
    assert set(frame.loc["a", "apart_from"]) == {"b", "c", "d"}
    assert set(frame.loc["c", "apart_from"]) == {"a", "b"}
    assert frame["concordance"].notna().all()


def test_equal_losses_are_seldom_told_apart_over_splits():
    random, apart = np.random.default_rng(1), 0
    names = list("abcdef")
    for _ in range(40):
        # Two halves share half of their classes.
        shared = random.normal(0, 0.01, (len(names), 1))
        values = 0.5 + (shared + random.normal(0, 0.01, (len(names), 5))) / 2**0.5
        table = pd.concat(
            scores(
                {name: [value] for name, value in zip(names, column, strict=True)}, split=f"s{n}"
            )
            for n, column in enumerate(values.T)
        )
        frame = tournament(table, methods=names, **BY_RECALL)
        apart += any(map(len, frame["apart_from"]))
    assert apart <= 6
