"""CONTRIBUTING.md, followed to the letter in a copy of the project."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from project import REPOSITORY, Project

BLOCK = re.compile(r"^```(?:python|yaml)\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGE = (REPOSITORY / "CONTRIBUTING.md").read_text()

PARTS = """
import numpy as np, torch, yaml
from pathlib import Path
from dmlbench import plan, registry
from dmlbench.losses import build_loss
from dmlbench.miners import build_miner
from dmlbench.samplers import build_sampler

loaded = plan.load(yaml.safe_load(Path("config/config.yaml").read_text()), Path("config"))
assert len(loaded.runs("my_study")) == 3
labels = torch.arange(8) % 2
embeddings = torch.randn(8, 4, requires_grad=True)
loss = build_loss("my_loss", num_classes=2, embedding_dim=4)
loss(embeddings, labels).backward()
assert embeddings.grad.abs().sum() > 0
positive, negative = build_miner("my_miner")(embeddings.detach(), labels)
assert positive.any() and negative.any()
sampler = build_sampler("my_sampler", labels.numpy(), batch_size=4, seed=0, stride=2)
assert [batch.tolist() for batch in sampler.epoch(0)] == [[0, 2, 4, 6], [1, 3, 5, 7]]
backbone = registry.build("networks/backbones", "my_backbone", context={"input_channels": 1})
assert backbone(torch.zeros(2, 1, 8, 8)).shape == (2, backbone.features, 2, 2)
"""
RECORDED = """
from golden_parts import computed

for package, name, option in (
    ("losses", "my_loss", "margin"),
    ("miners", "my_miner", None),
    ("samplers", "my_sampler", "stride"),
    ("networks/backbones", "my_backbone", "width"),
    ("experiments", "my_experiment", "points"),
):
    values = computed(package, name)
    assert values
    assert option is None or any(key.startswith(option) for key in values), values.keys()
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project with every block of the page written to its file."""
    folder = tmp_path_factory.mktemp("contributed")
    copied = Project(folder)
    for name, text in BLOCK.findall(PAGE):
        file = folder / name
        added = file.read_text() + "\n" if file.exists() else ""
        file.write_text(added + text)
    images = folder / "images"
    images.mkdir()
    (images / "one.txt").write_text("any file")
    datasets = folder / "config" / "datasets.yaml"
    datasets.write_text(datasets.read_text().replace("~/pictures/mine", str(images)))
    return copied


def test_every_part_of_the_page_is_written_somewhere():
    written = {name for name, _ in BLOCK.findall(PAGE)}
    packages = {str(Path(name).parent) for name in written}
    assert {
        f"workflow/scripts/dmlbench/{package}" for package in ("losses", "samplers")
    } <= packages
    assert "config/studies/my_study.yaml" in written


@pytest.mark.parametrize("code", [PARTS, RECORDED], ids=["works", "is recorded"])
def test_what_the_page_adds_is_planned_and_works(project, code):
    tests = REPOSITORY / "tests"
    folders = [project.folder / "workflow" / "scripts", tests, tests / "golden"]
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=project.folder,
        env={"PYTHONPATH": os.pathsep.join(map(str, folders))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.workflow
def test_the_study_of_the_page_runs(project):
    project.snakemake("my_study")
    folder = project.folder / "results" / "studies" / "my_study"
    counted = pd.read_csv(folder / "tables" / "counted.csv")
    assert dict(zip(counted.iloc[:, 0], counted["scores"], strict=True))["MyLoss"] == 3 * 2
    scores = pd.read_parquet(folder / "scores.parquet")
    assert {"pi_ratio", "recall_at_1"} <= set(scores.metric)
