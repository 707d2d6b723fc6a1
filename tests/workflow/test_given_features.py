"""Features that another program has computed: from a Parquet file to answers, without an image."""

import html
import re
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from dmlbench.data.features import Features
from PIL import Image
from project import Project, dmlbench

pytestmark = pytest.mark.workflow

CLASSES = np.arange(48) % 8


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project next to vectors as Parquet, and the same as .npy with labels and pictures."""
    project = Project(tmp_path_factory.mktemp("project"))
    project.results = project.folder / "results"
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(48, 6)) + 2 * np.eye(8, 6)[CLASSES]
    names = [f"recording {number}" for number in range(48)]
    columns = {"id": names, "label": [f"bird {each}" for each in CLASSES], "vector": list(vectors)}
    pq.write_table(pa.table(columns), project.folder / "songs.parquet")
    np.save(project.folder / "seen.npy", vectors.astype("float32"))
    lines = ["label,path"]
    for number, label in enumerate(CLASSES):
        lines.append(f"bird {label},pictures/{number}.png")
    (project.folder / "pictures").mkdir()
    for number in range(48):
        pixels = generator.integers(0, 255, (20, 24, 3), np.uint8)
        Image.fromarray(pixels).save(project.folder / "pictures" / f"{number}.png")
    (project.folder / "seen.csv").write_text("\n".join(lines))
    return project


def made(project, *arguments):
    done = dmlbench(project.folder, "new", *arguments)
    assert done.returncode == 0, done.stderr
    name = arguments[-1]
    study = project.folder / "own" / name / "studies" / f"{name}.yaml"
    values = yaml.safe_load(study.read_text())
    values["runs"][0] |= {"method": ["raw_features", "untrained", "proxy_anchor"], "seed": 0}
    study.write_text(yaml.safe_dump(values, sort_keys=False))
    recipe = project.folder / "own" / name / "recipes.yaml"
    recipe.write_text(recipe.read_text().replace("base: heads", "base: heads\n  epochs: 1"))
    return done.stdout


def test_vectors_become_a_scored_study_without_an_image(project):
    said = made(project, "songs.parquet", "--name", "songs")
    assert "songs.parquet: 24 images of 4 classes train, 24 images of 4 classes test" in said
    assert "  Images: 48 of 8 classes" in said
    assert "Turned upright" not in said
    assert "other pretrained networks" not in said
    project.snakemake("--quiet", "rules", "--", "songs")
    scores = pd.read_csv(project.results / "studies/songs/tables/retrieval.csv")
    assert [each.partition(" (")[0] for each in scores["Loss"]] == [
        "Raw features",
        "Untrained",
        "ProxyAnchor",
    ]
    raw = pd.read_csv(project.results / "studies/songs/tables/raw.csv")
    vectors = np.load(project.folder / "seen.npy")[CLASSES >= 4].astype("float64")
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    similarity = vectors @ vectors.T - 9 * np.eye(24)
    nearest = CLASSES[CLASSES >= 4][similarity.argmax(1)]
    expected = 100 * (nearest == CLASSES[CLASSES >= 4]).mean()
    assert raw["d6_recall_at_1"][0] == pytest.approx(expected, abs=0.01)
    page = html.unescape((project.results / "report.html").read_text())
    assert re.search(r"Training (adds|loses) .* features \(ProxyAnchor; one seed", page)

    # Other vectors are other data, and the same ones again are not.
    assert project.planned("songs") == {}
    kept = (project.folder / "songs.parquet").read_bytes()
    table = pq.read_table(project.folder / "songs.parquet")
    (project.folder / "songs.parquet").unlink()
    changed = table.set_column(2, "vector", pa.array(list(np.load(project.folder / "seen.npy"))))
    pq.write_table(changed, project.folder / "songs.parquet")
    planned = project.planned("songs_table_retrieval")
    assert (planned["vectors"], planned["train"]) == (1, 3)
    (project.folder / "songs.parquet").write_bytes(kept)
    assert project.planned("songs") == {}


def test_pictures_are_shown_where_paths_are(project):
    said = made(project, "seen.npy", "--labels", "seen.csv", "--name", "seen")
    assert "  Depth: 8 bits" in said
    study = "results/studies/seen"
    project.snakemake("--quiet", "rules", "--", "seen_figure_unseen", f"{study}/neighbors")
    assert list((project.folder / study / "neighbors").glob("*.webp"))
    assert (project.results / "studies/seen/figures/map_unseen.png").is_file()
    (features,) = project.results.glob("data/seen-*/vectors.safetensors")
    index = pd.read_parquet(features.with_name("images.parquet"))
    rows = [
        int(member.removeprefix("pictures/").removesuffix(".png")) for member in index["member"]
    ]
    stored = Features(features).batch(index["image_id"].to_numpy())
    np.testing.assert_array_equal(stored.numpy(), np.load(project.folder / "seen.npy")[rows])
    shutil.rmtree(project.folder / "pictures")
    assert project.planned("seen_figure_unseen") == {}
