"""The long table of scores: what goes in comes out once, sorted, or an error says why."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dmlbench.errors import UserError
from dmlbench.statistics.aggregation import COLUMNS, SCHEMA, aggregate, read_scores, timings

ROW = {
    "run": "glyphs/convnet/d64/triplet/short/half/seed0",
    "dataset": "glyphs",
    "network": "convnet",
    "embedding_dim": 64,
    "method": "triplet",
    "recipe": "short",
    "split": "half",
    "seed": 0,
    "role": "test",
    "selection": "last_epoch",
    "metric": "recall_at_1",
    "value": 0.5,
}


@pytest.fixture
def written(tmp_path):
    def write(name, *changes):
        path = tmp_path / name
        pd.DataFrame([ROW | change for change in changes]).to_parquet(path, index=False)
        return path

    return write


def test_files_are_joined_and_sorted(written, tmp_path):
    late = written("late.parquet", {"method": "triplet"}, {"metric": "map_at_r", "value": 0.25})
    early = written("early.parquet", {"method": "arcface", "run": "a", "value": 0.75})
    aggregate([late, early], tmp_path / "scores.parquet")
    scores = read_scores(tmp_path / "scores.parquet")
    assert tuple(scores.columns) == COLUMNS
    assert list(scores.method) == ["arcface", "triplet", "triplet"]
    assert list(scores.metric) == ["recall_at_1", "map_at_r", "recall_at_1"]
    assert list(scores.value) == [0.75, 0.25, 0.5]


def test_order_of_the_files_does_not_matter(written, tmp_path):
    files = [written(f"{run}.parquet", {"run": run, "method": run}) for run in "cab"]
    aggregate(files, tmp_path / "one.parquet")
    aggregate(files[::-1], tmp_path / "two.parquet")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()


def test_types_are_those_of_the_schema(written, tmp_path):
    aggregate([written("a.parquet", {"seed": 3})], tmp_path / "scores.parquet")
    assert pq.read_schema(tmp_path / "scores.parquet").remove_metadata() == SCHEMA


def test_a_repeated_score_is_an_error_that_names_it(written, tmp_path):
    files = [written("a.parquet", {}), written("b.parquet", {"value": 0.6})]
    with pytest.raises(UserError, match=r"two scores for recall_at_1 on test images at last"):
        aggregate(files, tmp_path / "scores.parquet")
    assert not (tmp_path / "scores.parquet").exists()


def test_wrong_columns_are_named(tmp_path):
    row = {key: value for key, value in ROW.items() if key != "seed"} | {"epoch": 3}
    pd.DataFrame([row]).to_parquet(tmp_path / "a.parquet", index=False)
    with pytest.raises(UserError, match=r"a.parquet: .*missing: seed; not allowed: epoch"):
        aggregate([tmp_path / "a.parquet"], tmp_path / "scores.parquet")


def test_wrong_types_and_rules_are_named(written, tmp_path):
    with pytest.raises(UserError, match=r"a.parquet: a column has the wrong type"):
        aggregate([written("a.parquet", {"value": "high"})], tmp_path / "scores.parquet")
    with pytest.raises(UserError, match=r"selection 'luckiest'; allowed: best_test_epoch"):
        aggregate([written("b.parquet", {"selection": "luckiest"})], tmp_path / "scores.parquet")
    with pytest.raises(UserError, match=r"role 'train'; allowed: test, validation"):
        aggregate([written("c.parquet", {"role": "train"})], tmp_path / "scores.parquet")
    with pytest.raises(UserError, match="at least one run"):
        aggregate([], tmp_path / "scores.parquet")


def test_dictionary_encoded_strings_are_read(tmp_path):
    table = pa.Table.from_pylist([ROW], schema=SCHEMA)
    table = table.set_column(4, "method", table["method"].dictionary_encode())
    pq.write_table(table, tmp_path / "a.parquet")
    aggregate([tmp_path / "a.parquet"], tmp_path / "scores.parquet")
    assert list(read_scores(tmp_path / "scores.parquet").method) == ["triplet"]


def test_timings_by_run_and_stage(tmp_path):
    train, embed = tmp_path / "train.tsv", tmp_path / "embed.tsv"
    train.write_text("s\th:m:s\tmax_rss\tmax_vms\n10.0\t0:00:10\t100.5\t9\n20.0\t0:00:20\t90\t9\n")
    embed.write_text("s\th:m:s\tmax_rss\tmax_vms\n0.125\t0:00:00\t-\t-\n")
    files = {"run/a": {"train": train, "embed": embed, "evaluate": tmp_path / "none.tsv"}}
    timings(files, tmp_path / "timings.csv")
    assert (tmp_path / "timings.csv").read_text() == (
        "run,stage,seconds,max_rss_mb\n"
        "run/a,train,15.0,100.5\n"
        "run/a,embed,0.12,\n"
        "run/a,evaluate,,\n"
    )
