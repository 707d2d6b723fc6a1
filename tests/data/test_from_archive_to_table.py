"""The whole way from an archive in its official layout to a table of scores."""

import hashlib
import io
import json

import numpy as np
import pandas as pd
import pytest
import yaml
from layout_archives import write_tar
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
COUNTS = f"images: {CLASSES * EACH}\n  classes: {CLASSES}\n"


@pytest.fixture
def archive(tmp_path):
    """CUB_200_2011.tgz with few classes: squares, whose color is their class."""
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
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=95)
        members[f"CUB_200_2011/images/{name}"] = buffer.getvalue()
    (tmp_path / "mirror").mkdir()
    return write_tar(tmp_path / "mirror" / "CUB_200_2011.tgz", members)


def test_an_archive_in_the_official_layout_becomes_a_table(archive, shared, tmp_path, monkeypatch):
    monkeypatch.setenv("DMLBENCH_MIRROR", str(shared / "datasets"))
    project = Project(tmp_path)
    config = project.folder / "config"
    (config / "studies/heads.yaml").write_text(yaml.safe_dump(STUDY))
    catalog = config / "datasets.yaml"
    # As the published entry, but for the number of its images and the hash of what a mirror has.
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    text = catalog.read_text().replace("images: 11788\n  classes: 200\n", COUNTS)
    md5 = "      md5: 97eceeb196236b17998738112f37df78\n"
    assert text.count(COUNTS) >= 2
    assert text.count(md5) == 1
    catalog.write_text(text.replace(md5, f"{md5}      mirror_sha256: [{digest}]\n"))
    alternatives = {"alternatives": {"cub200_160": "official"}, "mirrors": [str(archive.parent)]}
    call = ("--config", f"data={json.dumps(alternatives)}", "--", "heads_table_recall")

    project.snakemake("--quiet", "all", *call)
    table = pd.read_csv(project.folder / "results/studies/heads/tables/recall.csv")
    assert table["Loss"].tolist() == ["Contrastive (2006)", "Raw features"]
    packed = pd.read_parquet(*project.folder.glob("results/data/*/pixels*.parquet"))
    assert set(zip(packed["height"], packed["width"], strict=True)) == {(160, 240)}
    assert "Nothing to be done" in project.snakemake("--dry-run", *call)
    # Without the choice, the data of the mirror's own zip are meant.
    assert project.planned("--", "heads_table_recall")["train"] == 2
