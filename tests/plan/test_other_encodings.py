"""Published runs on the same images in another encoding: on request, and marked."""

import json

import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.plan import paths
from dmlbench.plan.specs import published_runs
from dmlbench.plan.views import score_files, views

OLD, NEW = ["contrastive", "triplet"], "margin"
GRID = {
    "dataset": "cub200_160",
    "network": "efficientnet_lite0_frozen",
    "embedding_dim": 64,
    "recipe": "heads",
    "seed": 0,
}
OFFICIAL = {"data": {"alternatives": {"cub200_160": "official"}}}
ASKED = "published_runs_of_other_encodings"
RECORD = {
    "dataset": "cub200_160",
    "network": "efficientnet_lite0_frozen",
    "encodings": {
        "ours": {"shifts": {"one": {"recall_at_1": 0.0, "map_at_r": 0.0}}},
        "first": {
            "shifts": {
                "one": {"recall_at_1": 1.0, "map_at_r": 0.0},
                "two": {"recall_at_1": -2.0, "map_at_r": 0.2},
            }
        },
        "second": {
            "shifts": {
                "one": {"recall_at_1": 0.0, "map_at_r": 0.2},
                "two": {"recall_at_1": 2.0, "map_at_r": 0.2},
            }
        },
    },
}


def publish(configured, **grid):
    """Publish a study `old` with these runs in our encoding."""
    configured.grid(**GRID | {"method": OLD} | grid)
    loaded = configured.load()
    rows = [row.columns | {"run": loaded.run(row).folder} for row in loaded.rows("mine")]
    folder = configured.folder.parent / "results" / "published" / "old"
    folder.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_csv(folder / "runs.csv", index=False)
    (folder / "scores.parquet").touch()


@pytest.fixture
def published(configured):
    """A study `old` whose runs are published in our encoding, and `mine`, which adds a loss."""
    publish(configured)
    benchmarks = configured.folder.parent / "results" / "benchmarks"
    benchmarks.mkdir()
    (benchmarks / "encodings.json").write_text(json.dumps(RECORD))
    configured.grid(**GRID | {"method": [*OLD, NEW]})
    table = {"title": "T", "kind": "tournament", "where": {"method": [*OLD, NEW]}}
    configured.change("studies/mine", ["tables"], {"ranks": table})
    configured.change("studies/mine", ["published_runs"], ["old"])
    configured.change("studies/mine", [ASKED], True)
    return configured


def shown(plan) -> dict[str, dict]:
    return {row["method"]: row for row, _ in score_files.shown(plan, "mine")}


def test_runs_of_our_encoding_stand_for_those_of_the_official_one(published):
    ours, official = published.load(), published.load(**OFFICIAL)
    assert published_runs.of_other_encodings(ours, "mine") == {}
    rows = shown(official)
    assert {name for name, row in rows.items() if "shifts" in row} == set(OLD)
    assert {rows[name]["run"] for name in OLD} == {shown(ours)[name]["run"] for name in OLD}
    new = official.run(next(row for row in official.rows("mine") if row.method == NEW)).folder
    assert rows[NEW]["run"] == new
    assert new != shown(ours)[NEW]["run"]
    said = published_runs.said(official, "mine")
    assert said == (
        "published scores stand for 2 of 3 runs (old), 2 of them from another encoding of the "
        "same images"
    )
    assert published_runs.trained_again(official, "mine") == ""


def test_the_shift_is_the_root_mean_square_with_a_degree_of_freedom_per_encoding(published):
    row = shown(published.load(**OFFICIAL))[OLD[0]]
    assert row["shifts"]["recall_at_1"] == (pytest.approx(1.5), 2)
    assert row["shifts"]["map_at_r"] == (pytest.approx((3 * 0.04 / 4) ** 0.5), 2)


def test_every_view_marks_them(published):
    facts = views.facts(published.load(**OFFICIAL), "mine", "table", "ranks")
    assert facts["titles"]["contrastive"] == "Contrastive †"
    assert facts["titles"]["margin"] == "Margin"
    assert "(old), 2 of them from another encoding of the same images (†)" in facts["published"]
    assert "recall_at_1: 1.50 points, map_at_r: 0.17 points, by 2 encodings" in facts["published"]
    ours = views.facts(published.load(), "mine", "table", "ranks")
    assert ours["titles"]["contrastive"] == "Contrastive"


def test_without_request_everything_is_trained(published):
    published.change("studies/mine", [ASKED], False)
    official = published.load(**OFFICIAL)
    assert published_runs.standing(official, "mine") == {}
    said = published_runs.trained_again(official, "mine")
    assert said.startswith("2 runs are published with another spec, other data or an earlier ver")


def test_another_spec_is_not_taken_in_another_encoding(published):
    published.change("recipes", ["heads", "batch_size"], 64)
    official = published.load(**OFFICIAL)
    assert published_runs.standing(official, "mine") == {}
    assert published_runs.trained_again(official, "mine").startswith("2 runs are published with")


def test_other_images_are_not_an_encoding_of_the_published_ones(published):
    archive = ["cub200_160", "archives", "cub200_160.zip", "mirror_sha256"]
    published.change("datasets", archive, ["0" * 64])
    published.change("datasets", ["cub200_160", "archives", "cub200_160.zip", "sha256"], "1" * 64)
    assert published_runs.standing(published.load(**OFFICIAL), "mine") == {}


def test_where_no_shift_is_measured_the_request_is_refused(published):
    published.change("studies/mine", ["tables"], {})
    published.change("studies/mine", [ASKED], False)
    publish(published, dataset=["cub200_160", "cars196_160"])
    published.change("studies/mine", [ASKED], True)
    assert len(published_runs.of_other_encodings(published.load(**OFFICIAL), "mine")) == 2
    cars = published.load(data={"alternatives": {"cars196_160": "official"}})
    with pytest.raises(UserError) as error:
        published_runs.of_other_encodings(cars, "mine")
    assert str(error.value) == (
        f"{published.folder}/studies/mine.yaml: {ASKED}: no shift of scores is measured for "
        "cars196_160 with efficientnet_lite0_frozen; allowed (in "
        "results/benchmarks/encodings.json): cub200_160 with efficientnet_lite0_frozen"
    )


def test_what_was_scored_here_stands_for_itself(published, tmp_path):
    official = published.load(**OFFICIAL, pathvars={"results": str(tmp_path / "own")})
    run = official.run(official.rows("mine")[0]).folder
    file = tmp_path / "own" / paths.made("evaluate", "scores", run=run)
    file.parent.mkdir(parents=True)
    file.touch()
    again = published.load(**OFFICIAL, pathvars={"results": str(tmp_path / "own")})
    rows = shown(again)
    assert rows[OLD[0]]["run"] == run
    assert "shifts" not in rows[OLD[0]]
    assert "shifts" in rows[OLD[1]]
