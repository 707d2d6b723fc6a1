"""docs/own.md, followed to the letter in a copy of the project."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from project import REPOSITORY, Project, with_command

PAGE = (REPOSITORY / "docs" / "own.md").read_text()
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\S+)\n(.*)", re.DOTALL)
TABLE = re.compile(r"^\|:---.*\n((?:\|.*\n)+)", re.MULTILINE)
LOSS = {
    "workflow/scripts/dmlbench/losses/my_loss.py": "own/my_loss/losses/my_loss.py",
    "config/methods.yaml": "own/my_loss/methods.yaml",
}
"""CONTRIBUTING.md's blocks -> where a loss of one's own has them."""


def add(folder: Path, block: str) -> None:
    """Append a block, whose first line names its file, to that file."""
    name, text = FILE.fullmatch(block).groups()
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text((file.read_text() + "\n" if file.exists() else "") + text)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project with this environment and CONTRIBUTING.md's loss."""
    folder = tmp_path_factory.mktemp("own") / "dmlbench"
    folder.mkdir()
    project = Project(folder)
    (project.folder / ".venv").symlink_to(sys.prefix)
    for kind, block in FENCED.findall((REPOSITORY / "CONTRIBUTING.md").read_text()):
        if kind in ("python", "yaml") and (place := LOSS.get(FILE.fullmatch(block)[1])):
            add(project.folder, f"# {place}\n{FILE.fullmatch(block)[2]}")
    return project


def run(folder: Path, commands: str, project: Path = REPOSITORY) -> str:
    """What commands of a page print; the environment is the one that runs the tests."""
    made = r"^(make environment|source \.venv/bin/activate)\n"
    commands = re.sub(made, "", commands, flags=re.MULTILINE)
    own = with_command(folder.parent / "bin", project) | {"VIRTUAL_ENV_DISABLE_PROMPT": "1"}
    done = subprocess.run(
        ["bash", "-ec", commands], cwd=folder, env=own, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.workflow
def test_the_page_runs_and_prints_what_it_shows(project):
    printed = ""
    for kind, block in FENCED.findall(PAGE):
        if kind in ("python", "yaml"):
            add(project.folder, block)
        elif kind == "bash":
            printed = run(project.folder, block, project.folder)
        else:
            assert [line for line in block.splitlines() if line not in printed] == []

    # Another CPU has other digits, and the same rows.
    studies = project.folder / "results" / "studies"
    losses, _, mine, _ = (rows.splitlines() for rows in TABLE.findall(PAGE))
    for study, rows in (("digits", losses), ("digits_my_loss", mine)):
        found = pd.read_csv(studies / study / "tables" / "retrieval.csv")
        assert list(found["Loss"]) == [row.split("|")[1].strip() for row in rows]
    differences = pd.read_csv(studies / "digits_my_loss" / "tables" / "differences.csv")
    assert list(differences["panel"]) == ["R@1", "MAP@R"]


@pytest.mark.workflow
@pytest.mark.skipif(shutil.which("npm") is None, reason="no npm here: it gets the drawings")
def test_drawings_become_a_study_as_pictures_of_ones_own(project):
    photographs = PAGE.partition("\n## Photographs")[2].partition("```\n")[2]
    drawn, new, _, plan, *_ = photographs.partition("```")[0].splitlines()
    printed = run(project.folder, f"{drawn}\n{new}\n{plan}", project.folder)
    assert "5,000 images of 820 classes train, 4,920 images of 820 classes test" in printed
    assert "dmlbench: 12 trainings (3 of networks that stay untrained)" in printed
