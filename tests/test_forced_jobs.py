"""Which jobs Snakemake runs, where the project decides otherwise."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from dmlbench import plan

SNAKEFILE = """
from dmlbench.snakemake_parts import ask_behind_ancient_inputs

ask_behind_ancient_inputs()


rule page:
    input: "table"
    output: "page"
    shell: "touch {output}"


rule table:
    input: "scores"
    output: "table"
    shell: "touch {output}"


rule evaluate:
    input: ancient("pixels"), "model"
    output: "scores"
    shell: "touch {output}"


rule train:
    input: ancient("pixels")
    output: "model"
    shell: "touch {output}"


rule pack:
    output: "pixels"
    shell: "touch {output}"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Finished jobs, some of which take what is named by its content."""
    folder = tmp_path_factory.mktemp("ancient")
    (folder / "Snakefile").write_text(SNAKEFILE)
    snakemake(folder, "page")
    return folder


def snakemake(folder: Path, *arguments: str) -> str:
    call = [sys.executable, "-m", "snakemake", "--cores", "1", "--quiet=rules", *arguments]
    environment = os.environ | {"PYTHONPATH": str(Path(plan.__file__).parents[2])}
    done = subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("forced", "planned"),
    [
        (["pack"], {"pack"}),
        (["evaluate", "pack"], {"pack", "evaluate", "table", "page"}),
    ],
)
def test_what_is_forced_runs_with_all_that_is_made_of_it(folder, forced, planned):
    said = snakemake(folder, "--dry-run", "--forcerun", *forced, "--", "page")
    assert set(re.findall(r"^(\w+) +\d+$", said, re.MULTILINE)) - {"total"} == planned
