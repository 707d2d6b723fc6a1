"""The papers' studies at toy size: every table and figure exists, and no cell is empty."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml
from dmlbench import plan
from dmlbench.plan import pages
from latex import typeset
from project import REPOSITORY, local_environment

CONFIG = REPOSITORY / "config"
PAPERS = sorted(folder.name for folder in (CONFIG / "reference").iterdir() if folder.is_dir())

pytestmark = pytest.mark.rehearsal

_BY_NOISE = ("low", "high", "margin", "nearest", "seeds_needed")
"""Columns of the verdicts that need the noise of a number."""


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
            cells = pd.read_csv(file, dtype=str, keep_default_na=False)
            assert len(cells), file
            assert not (cells == "nan").any(axis=None), file
            for row in cells.to_dict("records"):
                missing = {column for column in row if row[column] in ("", "not run")}
                wrong = {column for column in missing if not is_explained(file, row, column)}
                assert not wrong, (file, row, wrong)


def is_explained(file, row, column):
    """Whether a number cannot exist: a spread of one, a difference from an unprinted number."""
    stem, _, last = column.rpartition("_")
    loss, printed, verdict = (row.get(key) for key in ("Loss", f"{stem}_printed", "verdict"))
    if row[column] == "not run":
        # A number that no paper prints has no such cells.
        return row.get(f"{column.removesuffix('_last_epoch')}_printed") == "not printed"
    if verdict == "cited":
        return column not in ("printed", "value")
    if verdict:
        return {
            # An experiment has no split, and mostly no network.
            "network": row["split"] == "",
            "split": row["split"] == "",
            # Numbers whose noise nobody knows have no margin.
            **dict.fromkeys(_BY_NOISE, row.get("margin") == ""),
        }.get(column, column in ("panel", "variant", "fold") or last == "std")
    return (
        # Toy trainings may have equal differences in all pairs, for which no test is defined.
        (column in ("p", "holm") and row["low"] == row["high"])
        # Holm's correction is of single losses.
        or (column == "holm" and loss.startswith("All losses"))
        # A recall of toy draws may be equal in all of them, and then has no deviation.
        or (file.stem.endswith("_deviations") and column.startswith("recall_at_"))
        # A printed derivative that is right differs nowhere.
        or (column == "largest_difference" and row.get("printed_is_right") == "right")
        # A number that only we have.
        or (column == "printed" and "Number" in row)
        # Others are tested against the seeds' variance, and toy seeds share one training.
        or (row.get("Source") == "seed" and last == "p")
        or ("Source" in row and last == "p" and row[f"{stem}_low"] == row[f"{stem}_high"] != "")
        # A share of printed variance has no interval.
        or (last in ("low", "high") and row.get("panel", "").endswith(", printed"))
        or last == "std"
        or (last in ("difference", "inside") and (printed == "not printed" or row[stem] == "cited"))
    )


def test_tables_are_typeset(files, tmp_path):
    typeset([file for file in files if file.suffix == ".tex"], tmp_path)
