"""The workflow inside another one, and in Snakemake's own report."""

import subprocess
import sys

import pytest
from dmlbench.plan.records import published
from dmlbench.plan.specs import searches
from project import Project, copy_project, load_studies, local_environment

pytestmark = pytest.mark.workflow

OUTER = """
configfile: "dmlbench/config/config.yaml"

module dmlbench:
    snakefile: "dmlbench/Snakefile"
    config: config

use rule * from dmlbench

rule mine:
    default_target: True
    input: "results/studies/demo/scores.parquet"
    output: "mine.txt"
    shell: "wc -c {input} > {output}"
"""


def test_another_workflow_uses_this_one_as_a_module(tmp_path):
    (tmp_path / "dmlbench").mkdir()
    copy_project(tmp_path / "dmlbench")
    (tmp_path / "Snakefile").write_text(OUTER)
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "1", "--dry-run", "--quiet", "reason"],
        cwd=tmp_path,
        env=local_environment(),
        capture_output=True,
        text=True,
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    counts = dict(line.split() for line in output.splitlines() if len(line.split()) == 2)
    assert (counts["train"], counts["aggregate"], counts["mine"]) == ("22", "1", "1")


def test_snakemakes_own_report_shows_figures_with_their_titles(tmp_path):
    project, target = Project(tmp_path), "karaman2021_figure_3_6"
    project.snakemake("--quiet", "all", "--", target)
    project.snakemake("--report", "snakemake.html", "--", target)
    shown = (tmp_path / "snakemake.html").read_text(encoding="utf-8")
    title = project.plan().studies["karaman2021"].figures["3_6"].title
    assert f"{title}. Study karaman2021" in shown
    assert "3_6.svg" in shown
    assert "Figures" in shown


def test_a_call_continues_after_unpacked_searches(tmp_path):
    project, study = Project(tmp_path), "psomas2020_birds"
    loaded = project.plan()
    row = next(row for row in loaded.rows(study) if row.method == "triplet")
    name = searches.folder(loaded, loaded.search_of(row))
    here, file = tmp_path / "elsewhere" / "searches" / name, tmp_path / "a.tar.xz"
    for made in ("workers/0.yaml", "trials.parquet", "best.yaml"):
        (here / made).parent.mkdir(parents=True, exist_ok=True)
        (here / made).touch()
    published.pack(load_studies(study, pathvars={"results": str(here.parents[1])}), study, file)
    published.unpack(file, tmp_path / "results")
    output = project.snakemake("-n", "--quiet", "reason", "--", f"{study}_table_retrieval")
    counts = dict(line.split() for line in output.splitlines() if len(line.split()) == 2)
    assert (counts["search_worker"], counts["search"]) == ("9", "9")
