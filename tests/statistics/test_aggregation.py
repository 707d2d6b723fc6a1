"""The long table of scores: what goes in comes out once, sorted, or an error says why."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dmlbench.errors import UserError
from dmlbench.statistics.aggregation import (
    COLUMNS,
    SCHEMA,
    aggregate,
    collect,
    in_rows,
    no_scores,
    read_scores,
    row_of,
)

ROW = {
    "run": "glyphs-triplet-0123abcd",
    "dataset": "glyphs",
    "network": "convnet",
    "embedding_dim": 64,
    "method": "triplet",
    "recipe": "short",
    "variant": "",
    "split": "half",
    "fold": "",
    "seed": 0,
}
SCORE = {"role": "test", "selection": "last_epoch", "metric": "recall_at_1", "value": 0.5}


@pytest.fixture
def written(tmp_path):
    def write(name, *changes):
        path = tmp_path / name
        pd.DataFrame([SCORE | change for change in changes]).to_parquet(path, index=False)
        return path

    return write


def test_files_are_joined_under_their_rows_and_sorted(written, tmp_path):
    late = written("late.parquet", {}, {"metric": "map_at_r", "value": 0.25})
    early = written("early.parquet", {"value": 0.75})
    rows = [ROW, ROW | {"method": "arcface", "run": "a"}]
    aggregate(rows, [late, early], tmp_path / "scores.parquet", runs=tmp_path / "runs.csv")
    named = pd.read_csv(tmp_path / "runs.csv")
    assert list(named["run"]) == [ROW["run"], "a"]
    scores = read_scores(tmp_path / "scores.parquet")
    assert tuple(scores.columns) == COLUMNS
    assert list(scores.method) == ["arcface", "triplet", "triplet"]
    assert list(scores.run) == ["a", ROW["run"], ROW["run"]]
    assert list(scores.metric) == ["recall_at_1", "map_at_r", "recall_at_1"]
    assert list(scores.value) == [0.75, 0.25, 0.5]


def test_order_of_the_rows_does_not_matter(written, tmp_path):
    rows = [ROW | {"run": run, "method": run} for run in "cab"]
    files = [written(f"{run}.parquet", {}) for run in "cab"]
    aggregate(rows, files, tmp_path / "one.parquet", runs=tmp_path / "runs.csv")
    aggregate(rows[::-1], files[::-1], tmp_path / "two.parquet", runs=tmp_path / "runs.csv")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()


def test_one_run_can_have_several_rows(written):
    file = written("a.parquet", {})
    rows = [ROW, ROW | {"variant": "lambda=0.001"}, ROW | {"split": "folds", "fold": "3"}]
    scores = collect(rows, [file] * 3)
    assert list(scores.run) == [ROW["run"]] * 3
    assert set(zip(scores.variant, scores.fold, strict=True)) == {
        ("", ""), ("lambda=0.001", ""), ("", "3")
    }  # fmt: skip
    assert list(in_rows(scores, rows[1:])) == [
        row_of(r) != row_of(ROW) for r in scores.to_dict("records")
    ]


def test_a_published_long_table_stands_for_a_file_of_scores(written, tmp_path):
    files = [
        written("a.parquet", {}, {"metric": "map_at_r", "value": 0.25}),
        written("b.parquet", {"value": 0.75}),
    ]
    rows = [ROW, ROW | {"method": "arcface", "run": "b"}]
    named = [*rows, ROW | {"variant": "another_name"}]
    published = tmp_path / "published.parquet"
    aggregate(named, [*files, files[0]], published, runs=tmp_path / "runs.csv")
    pd.testing.assert_frame_equal(collect(rows, [published] * 2), collect(rows, files))
    pd.testing.assert_frame_equal(collect(rows, [files[0], published]), collect(rows, files))
    with pytest.raises(UserError, match=r"published\.parquet: has no scores of c"):
        collect([ROW | {"run": "c"}], [published])


def test_a_row_without_variant_and_fold_has_none(written):
    row = {key: value for key, value in ROW.items() if key not in ("variant", "fold")}
    scores = collect([row], [written("a.parquet", {})])
    assert scores[["variant", "fold"]].to_numpy().tolist() == [["", ""]]


def test_tables_of_experiments_follow_with_defaults(written, tmp_path):
    folder = tmp_path / "toy_spaces"
    folder.mkdir()
    table = {"method": ["ranking", "moving"], "metric": "map_at_r", "value": [0.25, 0.5]}
    pd.DataFrame(table | {"embedding_dim": [None, 2]}).to_parquet(folder / "seed2.parquet")
    scores = collect([ROW], [written("a.parquet", {})], tables=[folder / "seed2.parquet"])
    shown = ["run", "dataset", "embedding_dim", "method", "seed", "role", "selection", "value"]
    assert scores[shown].to_numpy().tolist() == [
        ["toy_spaces", "", 0, "ranking", 2, "test", "none", 0.25],
        ["toy_spaces", "", 2, "moving", 2, "test", "none", 0.5],
        [ROW["run"], "glyphs", 64, "triplet", 0, "test", "last_epoch", 0.5],
    ]
    assert len(collect([], [], tables=[folder / "seed2.parquet"])) == 2
    pd.DataFrame(table | {"epoch": 1}).to_parquet(folder / "more.parquet")
    with pytest.raises(UserError, match=r"more.parquet: wrong columns .*not allowed: epoch"):
        collect([], [], tables=[folder / "more.parquet"])


def test_types_are_those_of_the_schema(written, tmp_path):
    files, output = [written("a.parquet", {})], tmp_path / "scores.parquet"
    aggregate([ROW | {"seed": 3}], files, output, runs=tmp_path / "runs.csv")
    assert pq.read_schema(tmp_path / "scores.parquet").remove_metadata() == SCHEMA


def test_a_repeated_score_is_an_error_that_names_it(written, tmp_path):
    files = [written("a.parquet", {}), written("b.parquet", {"value": 0.6})]
    output, runs = tmp_path / "scores.parquet", tmp_path / "runs.csv"
    with pytest.raises(UserError, match=r"half/0 has two scores for recall_at_1 on test images"):
        aggregate([ROW, ROW | {"run": "b"}], files, output, runs=runs)
    assert not (tmp_path / "scores.parquet").exists()


def test_a_view_without_rows_has_no_scores():
    pd.testing.assert_frame_equal(collect([], []), no_scores())


def test_wrong_columns_are_named(tmp_path):
    score = {key: value for key, value in SCORE.items() if key != "role"} | {"epoch": 3}
    pd.DataFrame([score]).to_parquet(tmp_path / "a.parquet", index=False)
    with pytest.raises(UserError, match=r"a.parquet: .*missing: role; not allowed: epoch"):
        collect([ROW], [tmp_path / "a.parquet"])


def test_wrong_types_and_rules_are_named(written):
    with pytest.raises(UserError, match=r"a.parquet: a column has the wrong type"):
        collect([ROW], [written("a.parquet", {"value": "high"})])
    with pytest.raises(UserError, match=r"selection 'luckiest'; allowed: best_test_epoch"):
        collect([ROW], [written("b.parquet", {"selection": "luckiest"})])
    with pytest.raises(UserError, match=r"role 'dev'; allowed: train, validation, test"):
        collect([ROW], [written("c.parquet", {"role": "dev"})])


def test_dictionary_encoded_strings_are_read(tmp_path):
    table = pa.Table.from_pylist([SCORE])
    table = table.set_column(0, "role", table["role"].dictionary_encode())
    pq.write_table(table, tmp_path / "a.parquet")
    assert list(collect([ROW], [tmp_path / "a.parquet"]).role) == ["test"]
