"""The scores of each test class, from queries that are written by hand."""

import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.statistics.classes import by_metric, of_runs, read_classes, write_classes

ROW = {"dataset": "glyphs", "network": "convnet", "embedding_dim": 8, "method": "margin"}
ROW |= {"recipe": "short", "variant": "", "split": "half", "fold": "", "seed": 0}
QUERIES = pd.DataFrame(
    {
        "image_id": range(6),
        "label": [4, 4, 4, 7, 4, 7],
        "role": ["test"] * 5 + ["validation"],
        "selection": ["last_epoch"] * 6,
        "first_rank": [1, 3, 1, 1, 1, 2],
        "r_precision": [1.0, 0.5, 0.5, 0.25, 0.0, 0.0],
        "map_at_r": [1.0, 0.5, 0.25, 0.75, 0.0, 0.0],
    }
)


@pytest.fixture
def files(tmp_path):
    QUERIES.to_parquet(tmp_path / "queries.parquet", index=False)
    return [tmp_path / "queries.parquet"]


def test_a_class_has_the_means_of_its_test_queries(files):
    found = of_runs([ROW], files)
    assert found["label"].tolist() == [4, 7]
    assert found["queries"].tolist() == [4, 1]
    assert found["recall_at_1"].tolist() == [0.75, 1.0]
    assert found["map_at_r"].tolist() == [0.4375, 0.75]
    assert (found["method"] == "margin").all()


def test_the_mean_over_classes_is_the_score_of_the_run(files, tmp_path):
    write_classes([ROW], files, tmp_path / "classes.parquet")
    found = read_classes(tmp_path / "classes.parquet")
    pd.testing.assert_frame_equal(found, by_metric(of_runs([ROW], files)))
    means = found.groupby("metric")["value"].mean()
    test = QUERIES[QUERIES["role"] == "test"]
    assert means["recall_at_1"] == pytest.approx((test["first_rank"] == 1).mean())
    assert means["map_at_r"] == pytest.approx(test["map_at_r"].mean())


def test_classes_of_a_published_study_stand_for_queries(files, tmp_path):
    names = [ROW | {"run": "a"}, ROW | {"variant": "tuned", "seed": 1, "run": "b"}]
    write_classes(names, files * 2, tmp_path / "classes.parquet")
    pd.DataFrame(names).to_csv(tmp_path / "runs.csv", index=False)
    asked = [ROW | {"variant": "mine", "run": "b"}]
    expected = of_runs(asked, files)
    found = of_runs(asked, [tmp_path / "classes.parquet"])
    pd.testing.assert_frame_equal(found, expected)


def test_a_study_of_one_split_has_none(tmp_path):
    write_classes([], [], tmp_path / "classes.parquet")
    assert read_classes(tmp_path / "classes.parquet").empty


def test_another_table_is_refused(tmp_path):
    QUERIES.to_parquet(tmp_path / "other.parquet", index=False)
    with pytest.raises(UserError, match=r"columns .*image_id.*; allowed"):
        read_classes(tmp_path / "other.parquet")
