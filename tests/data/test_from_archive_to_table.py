"""The whole way from an archive in its official layout to a table of scores.

And to one with published scores of the same images in our encoding.
"""

import hashlib
import io
import json
import shutil

import numpy as np
import pandas as pd
import pytest
import yaml
from layout_archives import write_tar, write_zip
from PIL import Image, ImageDraw
from project import Project

pytestmark = pytest.mark.workflow

CLASSES, EACH = 16, 6
HEADS = {
    "dataset": "cub200_160",
    "network": "efficientnet_lite0_frozen",
    "embedding_dim": 64,
    "method": "contrastive",
    "recipe": "heads",
    "variant": "short",
    "split": "half",
    "seed": 0,
}
STUDY = {
    "title": "Heads",
    "question": "Which?",
    "description": "Of squares.",
    "variants": {"short": {"set": {"batch_size": 16, "epochs": 1, "iterations_per_epoch": 20}}},
    "runs": [HEADS, HEADS | {"embedding_dim": 1280, "method": "raw_features"}],
    "tables": {
        "recall": {"title": "R@1", "kind": {"name": "scores_by_method", "metrics": ["recall_at_1"]}}
    },
}
OLD = {
    **STUDY,
    "runs": [HEADS | {"method": ["contrastive", "triplet"], "split": ["half", "half_swapped"]}],
    "tables": {},
}
LESS = {"name": "paired_differences", "metrics": ["recall_at_1"], "between": "method"}
MINE = {
    **OLD,
    "published_runs": ["old"],
    "published_runs_of_other_encodings": True,
    "runs": [OLD["runs"][0] | {"method": ["contrastive", "triplet", "margin"]}],
    "tables": {"less": {"title": "R@1", "kind": LESS | {"against": "contrastive"}}},
}
COUNTS = f"images: {CLASSES * EACH}\n  classes: {CLASSES}\n"


@pytest.fixture
def members():
    """Birds of few classes, as CUB_200_2011.tgz has them: squares, whose color is their class."""
    generator = np.random.default_rng(0)
    numbers = np.repeat(np.arange(1, CLASSES + 1), EACH)
    names = [f"{number:03}.Bird/Bird_{place}.jpg" for place, number in enumerate(numbers)]
    lists = {
        "images": names,
        "image_class_labels": [int(name[:3]) for name in names],
        "train_test_split": [1] * len(names),
    }
    members = {
        f"CUB_200_2011/{name}.txt": "\n".join(f"{n} {value}" for n, value in enumerate(values, 1))
        for name, values in lists.items()
    }
    for name in names:
        image = Image.new("RGB", (300, 200), "white")
        hue = f"hsl({(int(name[:3]) - 1) * 360 // CLASSES}, 100%, 50%)"
        left, top = generator.integers(0, (200, 100))
        ImageDraw.Draw(image).rectangle((left, top, left + 90, top + 90), fill=hue)
        members[f"CUB_200_2011/images/{name}"] = encoded(image, "JPEG", quality=95)
    return members


def encoded(image, form, **options):
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


@pytest.fixture
def project(members, shared, tmp_path, monkeypatch):
    """A copy of the project, and a mirror with the birds in the official and in our encoding."""
    monkeypatch.setenv("DMLBENCH_MIRROR", str(shared / "datasets"))
    project, mirror = Project(tmp_path), tmp_path / "mirror"
    mirror.mkdir()
    official = write_tar(mirror / "CUB_200_2011.tgz", members)
    ours = {
        name: encoded(Image.open(io.BytesIO(data)).resize((240, 160)), "PNG")
        if name.endswith(".jpg")
        else data
        for name, data in members.items()
    }
    # As the published entries, but for the number of images and the hashes of what a mirror has.
    catalog = tmp_path / "config/datasets.yaml"
    text = catalog.read_text().replace("images: 11788\n  classes: 200\n", COUNTS)
    assert text.count(COUNTS) >= 2
    md5 = "      md5: 97eceeb196236b17998738112f37df78\n"
    known = "ca07ce4926574fa076fd3341eca0109cc1293707c54b9e2180763d6dfeb949a8"
    assert text.count(md5) == text.count(known) == 1
    text = text.replace(known, digest(write_zip(mirror / "cub200_160.zip", ours)))
    catalog.write_text(text.replace(md5, f"{md5}      mirror_sha256: [{digest(official)}]\n"))
    return project


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def chosen(project, **alternatives):
    """Options of a call with the mirror, and these encodings of data sets."""
    data = {"alternatives": alternatives, "mirrors": [str(project.folder / "mirror")]}
    return ("--config", f"data={json.dumps(data)}")


def write(project, study, values):
    (project.folder / f"config/studies/{study}.yaml").write_text(yaml.safe_dump(values))


def test_an_archive_in_the_official_layout_becomes_a_table(project):
    write(project, "heads", STUDY)
    call = (*chosen(project, cub200_160="official"), "--", "heads_table_recall")
    project.snakemake("--quiet", "all", *call)
    table = pd.read_csv(project.folder / "results/studies/heads/tables/recall.csv")
    assert table["Loss"].tolist() == ["Contrastive (2006)", "Raw features"]
    packed = pd.read_parquet(*project.folder.glob("results/data/*/pixels*.parquet"))
    assert set(zip(packed["height"], packed["width"], strict=True)) == {(160, 240)}
    assert "Nothing to be done" in project.snakemake("--dry-run", *call)
    # Without the choice, the data of the mirror's own zip are meant.
    assert project.planned("--", "heads_table_recall")["train"] == 2


def test_published_runs_of_our_encoding_are_compared_with_those_of_the_official_one(project):
    write(project, "old", OLD)
    write(project, "mine", MINE)
    results = project.folder / "results"
    scores = "results/studies/old/scores.parquet"
    project.snakemake("--quiet", "all", *chosen(project), "--", scores)
    shutil.copytree(results / "studies/old", results / "published/old")
    for made in ("studies", "runs", "costs"):
        shutil.rmtree(results / made)
    measured(results, 0.0)
    call = (*chosen(project, cub200_160="official"), "--", "mine_table_less")
    planned = project.snakemake("--dry-run", *call)
    assert (
        "mine: published scores stand for 4 of 6 runs (old), 4 of them from another encoding of "
        "the same images"
    ) in planned
    assert project.planned(*call)["train"] == 2

    project.snakemake("--quiet", "all", *call)
    page = (results / "studies/mine/tables/less.md").read_text().replace("\\_", "_")
    assert "another encoding moves scores (recall_at_1: 0.00 points" in page
    narrow = halves(results)
    assert set(narrow) == {"Triplet †", "Margin"}
    measured(results, 20.0)
    project.snakemake("--quiet", "all", *call)
    wide = halves(results)
    assert wide["Triplet †"] == narrow["Triplet †"]
    assert wide["Margin"] > max(20, narrow["Margin"])
    assert "Nothing to be done" in project.snakemake("--dry-run", *call)


def measured(results, points):
    """A record of four encodings that move scores by so many points."""
    moved = {"shifts": {"row": {"recall_at_1": points, "map_at_r": points}}}
    record = {"dataset": "cub200_160", "network": "efficientnet_lite0_frozen"}
    (results / "benchmarks").mkdir(exist_ok=True)
    text = json.dumps(record | {"encodings": {str(number): moved for number in range(4)}})
    (results / "benchmarks/encodings.json").write_text(text)


def halves(results):
    """Loss -> half of the interval of its difference."""
    table = pd.read_csv(results / "studies/mine/tables/less.csv").set_index("Loss")
    return ((table["high"] - table["low"]) / 2).to_dict()
