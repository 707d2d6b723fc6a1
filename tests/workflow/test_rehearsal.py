"""psomas2020 at toy size, by Snakemake: every table and figure is there, and no cell is empty."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml
from dmlbench import plan
from dmlbench.plan import pages

REPOSITORY = Path(__file__).resolve().parents[2]
CONFIG = REPOSITORY / "config"
STUDY = "psomas2020"
SUBSET = ("table_14", "table_17", "table_text_or_code", "figure_27", "figure_31")


@pytest.fixture
def rehearse(tmp_path):
    """Snakemake on targets, its results in a folder of their own; returns the declared files."""
    rehearsal = yaml.safe_load((CONFIG / "rehearsal.yaml").read_text())
    rehearsal["pathvars"]["results"] = str(tmp_path / "results")
    (tmp_path / "rehearsal.yaml").write_text(yaml.safe_dump(rehearsal))

    def run(*targets):
        configuration = yaml.safe_load((CONFIG / "config.yaml").read_text())
        declared = pages.targets(plan.load(configuration | rehearsal, CONFIG), STUDY)
        files = ("--configfile", str(CONFIG / "config.yaml"), str(tmp_path / "rehearsal.yaml"))
        cores = str(len(os.sched_getaffinity(0)))
        done = subprocess.run(
            [
                *(sys.executable, "-m", "snakemake"),
                *("--snakefile", str(REPOSITORY / "Snakefile"), "--directory", str(tmp_path)),
                *("--cores", cores, *files, "--", *targets),
            ],
            cwd=REPOSITORY,
            env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return declared

    return run


def check(files):
    """Every file of a table or figure is there; no cell of a table is empty."""
    for file in map(Path, files):
        assert file.stat().st_size, file
        if file.suffix == ".csv":
            cells = pd.read_csv(file, dtype=str, keep_default_na=False)
            assert len(cells), file
            assert not (cells == "").any(axis=None), file
            assert not cells.isin(["not run", "nan"]).any(axis=None), file


@pytest.mark.workflow
def test_some_tables_and_figures(rehearse):
    targets = [f"{STUDY}_{name}" for name in SUBSET]
    declared = rehearse(*targets)
    for target in targets:
        check(declared[target])


@pytest.mark.rehearsal
def test_all_tables_and_figures(rehearse):
    for files in rehearse(STUDY).values():
        check(files)
