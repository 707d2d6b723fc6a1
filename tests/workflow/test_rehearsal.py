"""The papers' studies at toy size: every table and figure exists, and no cell is empty."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from dmlbench import plan
from dmlbench.plan.views import pages
from empty_cells import check_cells
from latex import typeset
from project import REPOSITORY, local_environment

CONFIG = REPOSITORY / "config"
PAPERS = sorted(folder.name for folder in (CONFIG / "reference").iterdir() if folder.is_dir())

pytestmark = pytest.mark.rehearsal


@pytest.fixture(scope="module", params=PAPERS)
def files(request, tmp_path_factory):
    """The files that a paper's study declares, after Snakemake has made them."""
    folder = tmp_path_factory.mktemp("rehearsal")
    rehearsal = yaml.safe_load((CONFIG / "rehearsal.yaml").read_text())
    rehearsal["pathvars"]["results"] = str(folder / "results")
    (folder / "rehearsal.yaml").write_text(yaml.safe_dump(rehearsal))
    configuration = yaml.safe_load((CONFIG / "config.yaml").read_text())
    loaded = plan.load(configuration | rehearsal, CONFIG)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "snakemake", "--snakefile", str(REPOSITORY / "Snakefile")),
            *("--directory", str(folder), "--cores", str(len(os.sched_getaffinity(0)))),
            *("--configfile", str(CONFIG / "config.yaml"), str(folder / "rehearsal.yaml")),
            *("--", request.param),
        ],
        cwd=REPOSITORY,
        env=local_environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [Path(file) for file in pages.files(loaded, request.param)]


def test_all_files_are_there(files):
    assert files
    assert {".csv", ".md", ".tex", ".pdf", ".png"} <= {file.suffix for file in files}
    assert all(file.stat().st_size for file in files)


def test_no_cell_is_empty_without_a_reason(files):
    for file in files:
        # The audit and the claims are sentences: a check that holds has nothing to explain.
        if file.suffix == ".csv" and file.parent.name not in ("audit", "claims"):
            check_cells(file)


def test_tables_are_typeset(files, tmp_path):
    typeset([file for file in files if file.suffix == ".tex"], tmp_path)
