"""Calls that cannot work: one line, before any job."""

import pytest
from project import Project

pytestmark = pytest.mark.workflow

RUN = "glyphs/convnet/d16/contrastiv/half/seed0-0123456789ab"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return Project(tmp_path_factory.mktemp("project"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["demoo"], "unknown target 'demoo'; did you mean 'demo'?"),
        (["psomas2020_table_6"], "did you mean 'psomas2020_table_06'?"),
        (["demo", "--config", "studies=[omniglot]"], "demo.yaml is not among `studies:`"),
        ([f"results/runs/{RUN}/scores.parquet"], f"run {RUN}: no active study lists it; did you"),
        (["results/studies/demo/tables/no.csv"], "unknown table of study demo 'no'"),
        (["results/studies/no/scores.parquet"], "unknown study 'no'"),
        (["results/data/no-01234567/images.parquet"], "unknown data set 'no-01234567'"),
        (["results/weights/no.pth"], "unknown file of weights 'no.pth'"),
        (["--cores", "0", "demo"], "--cores 0: no job could start"),
        (["--cores", "-1", "demo"], "--cores -1: no job could start"),
        (["demo", "--config", "pathvars={results: ~/x}"], "'~/x': ~ is not expanded here"),
        (["demo", "--config", "pathvars={results: Snakefile}"], "Snakefile is not a folder"),
    ],
)
def test_a_call_that_cannot_work_is_one_line(project, arguments, said):
    output = project.snakemake(*arguments, check=False)
    (line,) = (line for line in output.splitlines() if line.startswith("dmlbench:"))
    assert said in line
    assert output.splitlines()[-1] == line
    assert not (project.folder / "results").exists()


@pytest.mark.parametrize("file", ["config", "resources", "costs", "studies/demo", "searches"])
def test_an_empty_file_is_named(project, file):
    path = project.folder / "config" / f"{file}.yaml"
    text = path.read_text()
    path.write_text("# nothing\n")
    output = project.snakemake("--dry-run", "demo", check=False)
    path.write_text(text)
    *_, line = (line for line in output.splitlines() if line.startswith("dmlbench:"))
    assert f"config/{file}.yaml: is empty" in line
    assert "Traceback" not in output


def test_a_broken_study_stops_only_what_needs_it(project):
    """The demo is planned, with one line of warning; the broken study and all studies are not."""
    path = project.folder / "config" / "studies" / "torn.yaml"
    path.write_text("title: [\n")
    said = {}
    for target in ("demo", "torn", "all"):
        output = project.snakemake(target, "--dry-run", "--quiet", "all", check=False)
        lines = [line for line in output.splitlines() if line.startswith("dmlbench:")]
        said[target] = [line for line in lines if "studies/torn.yaml: not YAML" in line]
        assert any("22 trainings" in line for line in lines) == (target == "demo")
        assert "Traceback" not in output
    path.unlink()
    warning = "dmlbench: warning: study left out: "
    assert [line.startswith(warning) for line in said["demo"]] == [True]
    for target in ("torn", "all"):
        assert [line.startswith(warning) for line in said[target]] == [False]
