"""CONTRIBUTING.md, followed to the letter in a copy of the project."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from project import REPOSITORY, Project

BLOCK = re.compile(r"^```(python|yaml|diff)\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGE = (REPOSITORY / "CONTRIBUTING.md").read_text()
SECTION = re.compile(r"^## (Add .*?)\n(.*?)(?=^## )", re.MULTILINE | re.DOTALL)
STATED = re.compile(r"^\*(\d+) files?; nothing finished is trained again\.\*$", re.MULTILINE)

PARTS = """
import numpy as np, torch, yaml
from pathlib import Path
from dmlbench import plan, registry
from dmlbench.losses import build_loss
from dmlbench.miners import build_miner
from dmlbench.samplers import build_sampler

config = yaml.safe_load(Path("config/config.yaml").read_text()) | {"studies": ["my_study"]}
loaded = plan.load(config, Path("config"))
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
weighted = [
    build_loss("contrastive", num_classes=2, embedding_dim=4, margin=-1, **options)
    for options in ({}, {"weight": 1}, {"weight": 2})
]
before, same, other = (loss(embeddings, labels).item() for loss in weighted)
assert before == same != other
"""

FOLDERS = """
import json, sys, yaml
from dataclasses import replace
from pathlib import Path
from dmlbench import plan

config = yaml.safe_load(Path("config/config.yaml").read_text()) | {"studies": sys.argv[1:]}
loaded = plan.reload(config, Path("config"))
print(json.dumps({
    study: {row.label: loaded.run(row).folder for row in loaded.rows(study) if row.seed in (0, 1)}
    for study in loaded.studies
}))
"""

RECORDED = """
from golden_parts import computed

for package, name, option in (
    ("losses", "my_loss", "margin"),
    ("losses", "contrastive", "weight"),
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
    for kind, name, text in BLOCK.findall(PAGE):
        file = folder / name
        there = file.read_text() + "\n" if file.exists() else ""
        file.write_text(patched(file.read_text(), text) if kind == "diff" else there + text)
    images = folder / "images"
    images.mkdir()
    (images / "one.txt").write_text("any file")
    datasets = folder / "config" / "datasets.yaml"
    datasets.write_text(datasets.read_text().replace("~/pictures/mine", str(images)))
    return copied


def patched(text: str, diff: str) -> str:
    """A file's text with the changes of a diff whose parts are separated by @@."""
    for part in diff.split("@@\n"):
        lines = part.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in "- ")
        new = "".join(line[1:] for line in lines if line[0] in "+ ")
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(("title", "section"), SECTION.findall(PAGE))
def test_a_section_states_how_many_files_it_touches(title, section):
    (stated,) = STATED.findall(section)
    assert int(stated) == len({name for _, name, _ in BLOCK.findall(section)})


@pytest.mark.slow
def test_nothing_that_the_page_adds_trains_anything_again(project):
    studies = sorted(file.stem for file in (REPOSITORY / "config" / "studies").glob("*.yaml"))
    before, after = (folders(place, studies) for place in (REPOSITORY, project.folder))
    assert len(before) == len(studies) > 10
    for study in studies:
        assert after[study] == before[study], study


def folders(place: Path, studies: list[str]) -> dict[str, dict[str, str]]:
    """Study -> row -> folder of its run, by the library and the configuration of a project."""
    done = subprocess.run(
        [sys.executable, "-c", FOLDERS, *studies],
        cwd=place,
        env={"PYTHONPATH": str(place / "workflow" / "scripts")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_part_of_the_page_is_written_somewhere():
    written = {name for _, name, _ in BLOCK.findall(PAGE)}
    packages = {str(Path(name).parent) for name in written}
    assert {
        f"workflow/scripts/dmlbench/{package}" for package in ("losses", "samplers")
    } <= packages
    assert "config/studies/my_study.yaml" in written


@pytest.mark.slow
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
