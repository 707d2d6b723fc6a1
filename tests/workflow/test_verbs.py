"""Snakemake's standard verbs on a finished result, from any folder, and as a module."""

import re
import shutil
import subprocess
import sys
import tarfile

import pytest
from project import Project, local_environment

pytestmark = pytest.mark.workflow

DONE = "results/audit/can2019.csv"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with one result, of seconds."""
    project = Project(tmp_path_factory.mktemp("project"))
    config = project.folder / "config" / "config.yaml"
    config.write_text(f"{config.read_text()}\nstudies: [demo]\n")
    project.snakemake(DONE)
    return project


@pytest.mark.parametrize("verb", ["--summary", "--detailed-summary"])
def test_summaries_say_that_a_finished_file_stays(project, verb):
    lines = project.snakemake(verb, "--", DONE).splitlines()
    (row,) = (line.split("\t") for line in lines if line.startswith(DONE))
    assert row[2] == "audit_document"
    assert row[-2:] == ["ok", "no update"]


@pytest.mark.parametrize("what", ["params", "code", "input"])
def test_a_finished_file_has_no_changes(project, what):
    assert DONE not in project.snakemake("--list-changes", what, "--", DONE)


def test_params_that_change_are_listed(project):
    module = "workflow/scripts/dmlbench/statistics/audit/rounding.py"
    with project.edited(module, "\nEQUAL", "\nANOTHER = 1\nEQUAL"):
        assert DONE in project.snakemake("--list-changes", "params", "--", DONE)


@pytest.mark.parametrize("verb", [("--dag", "dot"), ("--rulegraph", "dot"), ("--filegraph",)])
def test_graphs(project, verb):
    printed = project.snakemake(*verb, "--", DONE)
    assert "digraph" in printed
    assert "audit" in printed


def test_a_touched_file_stays(project):
    before = (project.folder / DONE).read_bytes()
    project.snakemake("--touch", "--", DONE)
    assert (project.folder / DONE).read_bytes() == before
    assert project.planned("--", DONE) == {}


def test_report(project):
    project.snakemake("--report", "report.html", "--", DONE)
    assert "audit_document" in (project.folder / "report.html").read_text()


def test_unit_tests(project):
    project.snakemake("--generate-unit-tests", ".tests/unit", "--", DONE)
    expected = project.folder / ".tests" / "unit" / "audit_document" / "expected" / DONE
    assert expected.read_bytes() == (project.folder / DONE).read_bytes()


def test_archive(project):
    printed = project.snakemake("--archive", "all.tar.gz", "--", DONE, check=False)
    if shutil.which("conda") is None:
        # Snakemake packs the environments of rules.
        assert "Is conda installed" in printed
        return
    with tarfile.open(project.folder / "all.tar.gz") as archive:
        assert "Snakefile" in archive.getnames()


def elsewhere(folder, *arguments):
    command = [sys.executable, "-m", "snakemake", "--cores", "1", *map(str, arguments)]
    options = {"cwd": folder, "env": local_environment(), "capture_output": True, "text": True}
    return subprocess.run(command, **options)


@pytest.mark.parametrize("file", ["Snakefile", "workflow/Snakefile"])
def test_from_another_folder(project, tmp_path, file):
    snakefile, profile = project.folder / file, project.folder / "profiles" / "local"
    done = elsewhere(tmp_path, "-s", snakefile, "--profile", profile, "--", DONE)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / DONE).read_bytes() == (project.folder / DONE).read_bytes()


def test_an_estimate_from_another_folder(project, tmp_path):
    place = ("-s", project.folder / "Snakefile", "-d", project.folder)
    done = elsewhere(tmp_path, *place, "--quiet", "rules", "--dry-run", "--", "demo")
    assert done.returncode == 0, done.stderr
    *_, last = (line for line in done.stdout.splitlines() if line.startswith("dmlbench: "))
    assert re.match(r"dmlbench: \d+ trainings .*about \d+ \w+", last)
    assert not list(tmp_path.iterdir())


def test_the_profile_of_a_cluster_from_another_folder(project, tmp_path):
    profile = project.folder / "profiles" / "slurm"
    with project.edited("profiles/slurm/site.yaml", "account:", "account: [1]"):
        done = elsewhere(tmp_path, "-s", project.folder / "Snakefile", "--profile", profile, "-n")
    assert "profiles/slurm/site.yaml: account" in done.stdout + done.stderr


MODULE = """
{config}
module dmlbench:
    snakefile: "{snakefile}"
    config: config

use rule * from dmlbench as prefixed_*

localrules: other
rule other:
    output: "other"
    shell: "touch {{output}}"

onsuccess:
    print("local:", *workflow._localrules)
"""


def as_module(project, folder, config):
    text = MODULE.format(snakefile=project.folder / "Snakefile", config=config)
    (folder / "Snakefile").write_text(text)
    return elsewhere(folder, "--", DONE)


def test_as_a_module(project, tmp_path):
    done = as_module(
        project, tmp_path, 'config |= {"pathvars": {"results": "results"}, "studies": ["demo"]}'
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / DONE).read_bytes() == (project.folder / DONE).read_bytes()
    (local,) = (line for line in done.stdout.splitlines() if line.startswith("local:"))
    assert {"prefixed_table", "prefixed_download", "other"} <= set(local.split())
    assert "prefixed_train" not in local.split()


def test_as_a_module_without_a_key(project, tmp_path):
    done = as_module(project, tmp_path, "")
    assert done.returncode == 1
    (line,) = (each for each in done.stderr.splitlines() if each.startswith("dmlbench: "))
    assert line.startswith("dmlbench: config.yaml: pathvars")
