"""A published study that a loss is added to: only that loss is trained; and its certificate."""

import shutil

import pandas as pd
import pytest
import yaml
from project import Project, dmlbench

pytestmark = pytest.mark.workflow

OLD = {
    "title": "Two losses",
    "question": "Which?",
    "description": "Of drawn characters.",
    "runs": [
        {
            "dataset": "glyphs",
            "network": "convnet3",
            "embedding_dim": 8,
            "method": ["contrastive", "triplet"],
            "recipe": "glyphs",
            "split": ["half", "half_swapped"],
            "seed": 0,
        }
    ],
    "tournament": {"metric": "recall_at_1"},
    "tables": {"ranks": {"title": "Ranks", "kind": "tournament"}},
}
GRID = OLD["runs"][0] | {"method": ["contrastive", "triplet", "margin"]}
MINE = {"base": "old", "title": "Three losses", "runs": [GRID]}
TARGETS = (
    "old_margin_table_ranks",
    "old_margin_tournament",
    "results/studies/old_margin/scores.parquet",
)
FILES = ("scores.parquet", "classes.parquet", "tournament.parquet")


def test_a_published_study_is_extended_by_one_loss(tmp_path):
    project, config = Project(tmp_path), tmp_path / "config"
    datasets, recipes = config / "datasets.yaml", config / "recipes.yaml"
    swapped = "    half: half\n    half_swapped: {name: half, swapped: true}\n"
    datasets.write_text(datasets.read_text().replace("    half: half\n", swapped, 1))
    recipes.write_text(recipes.read_text().replace("epochs: 10\n", "epochs: 1\n", 1))
    write(config, "old", OLD)
    write(config, "old_margin", MINE)
    results = tmp_path / "results"
    project.snakemake("--quiet", "all", "--", *TARGETS)
    trained = [pd.read_parquet(results / "studies/old_margin" / file) for file in FILES]

    project.snakemake("--quiet", "all", "--", "old")
    shutil.copytree(results / "studies/old", results / "published/old")
    for made in ("studies", "runs", "costs"):
        shutil.rmtree(results / made)
    (config / "studies" / "old_margin.yaml").unlink()
    done = dmlbench(tmp_path, "extend", "old", "margin")
    assert done.returncode == 0, done.stderr
    planned = project.snakemake("--dry-run", "--", *TARGETS)
    assert "old_margin: published scores stand for 4 of 6 runs (old)" in planned
    assert project.planned("--", *TARGETS)["train"] == 2
    project.snakemake("--quiet", "all", "--", *TARGETS)
    for file, own in zip(FILES, trained, strict=True):
        pd.testing.assert_frame_equal(pd.read_parquet(results / "studies/old_margin" / file), own)
    table = (results / "studies/old_margin/tables/ranks.md").read_text()
    assert "published scores stand for 4 of 6 runs (old)" in table
    assert "Nothing to be done" in project.snakemake("--dry-run", "--", *TARGETS)
    verified = project.snakemake("--quiet", "all", "--", "verify")
    # Timings were not asked for.
    assert "old_margin: incomplete (1 jobs are missing); " in verified

    project.snakemake("--quiet", "all", "--", "reproduced_old")
    certificate = pd.read_csv(results / "certificates/old.csv")
    assert certificate["run"].nunique() == 3
    assert set(certificate["verdict"]) == {"equal"}
    page = (results / "certificates/old.md").read_text()
    assert "3 runs of 4, drawn by the digests of their names, of the 4 published runs" in page
    assert "Here: 3 trainings: cpu; Linux" in page

    published = results / "published/old/scores.parquet"
    frame = pd.read_parquet(published)
    frame.assign(value=frame["value"] / 2).to_parquet(published, index=False)
    assert project.planned("--", *TARGETS)["aggregate"] == 1


def write(config, study, values):
    (config / "studies" / f"{study}.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
