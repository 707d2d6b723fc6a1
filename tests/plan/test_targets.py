"""Unknown targets, and studies that are found by their files."""

import pytest
from dmlbench.errors import UserError
from dmlbench.plan.catalogs import call
from dmlbench.plan.catalogs.job_resources import Resources
from dmlbench.plan.graph.index import RunIndex
from dmlbench.plan.views import pages
from dmlbench.plan.views.targets import nearest, unknown_target

TARGETS = [
    *("all", "demo", "demo_table_recall", "demo_tournament"),
    *(f"psomas2020_table_{number:02}" for number in range(6, 20)),
    "psomas2020_figure_01",
    "experiment_roth2020_diagonal_lines",
    "experiment_roth2020_vertical_lines",
]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("demoo", ["demo"]),
        ("psomas2020_table_6", ["psomas2020_table_06"]),
        ("psomas2020-table-16", ["psomas2020_table_16"]),
        ("psomas2020_figure_map_01", ["psomas2020_figure_01"]),
        ("roth2020", TARGETS[-2:]),
        ("Demo", ["demo"]),
        ("qqqq", []),
    ],
)
def test_the_nearest_targets(name, wanted):
    assert nearest(name, TARGETS) == wanted


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_is_nearest_to_itself(target):
    assert nearest(target, TARGETS)[0] == target


def test_an_unknown_target_says_what_to_do(configured):
    loaded = configured.load()
    line = str(unknown_target(loaded, "min", ["mine", "mine_tournament"]))
    assert "unknown target 'min'; did you mean 'mine' or 'mine_tournament'?" in line
    assert f"a new study is a file {configured.folder}/studies/min.yaml" in line
    assert line.endswith("`snakemake --cores 1 help` lists studies")
    assert "a new study" not in str(unknown_target(loaded, "mine_table_6", []))


def test_an_option_among_the_targets_is_no_study(configured):
    line = str(unknown_target(configured.load(), "-nq", ["mine"]))
    assert line == "option -nq comes after `--`; allowed: options before it"


@pytest.mark.parametrize("name", ["demo", "demo_table_recall"])
def test_a_study_that_the_configuration_leaves_out_says_so(configured, name):
    line = str(unknown_target(configured.load(), name, ["mine"]))
    assert "studies/demo.yaml is not among `studies:` of" in line
    assert "add 'demo' there" in line


def test_every_file_is_a_study_unless_some_are_listed(configured):
    folder = configured.folder / "studies"
    for file in folder.glob("*.yaml"):
        if file.stem not in ("mine", "demo", "omniglot"):
            file.unlink()
    (folder / ".#mine.yaml").touch()
    assert list(configured.load(studies=None).studies) == ["demo", "mine", "omniglot"]
    assert list(configured.load(studies=["mine", "demo"]).studies) == ["mine", "demo"]


@pytest.mark.parametrize("name", ["My-study", "2study", "my.study"])
def test_a_study_whose_name_is_no_target_is_named(configured, name):
    for file in (configured.folder / "studies").glob("*.yaml"):
        file.unlink()
    (configured.folder / "studies" / f"{name}.yaml").touch()
    assert f"{name}.yaml: a study is a target by its file's name" in configured.problem(
        studies=None
    )


def test_a_folder_without_studies_is_named(configured):
    for file in (configured.folder / "studies").glob("*.yaml"):
        file.unlink()
    assert "studies: has no study" in configured.problem(studies=None)


def test_an_unknown_run_is_answered_with_the_nearest(configured, tmp_path):
    loaded = configured.load()
    run = loaded.runs("mine")[-1].folder
    index = RunIndex(loaded, tmp_path / "plan.json", fresh=True)
    with pytest.raises(UserError, match=f"did you mean {run}"):
        index.find(run.replace("triplet", "triplett"))


def test_a_rule_without_needs_is_named(tmp_path):
    file = tmp_path / "resources.yaml"
    file.write_text("train: {mem_mb: 4000, runtime: 60}\n")
    with pytest.raises(UserError, match=r"resources.yaml: embed: is missing; allowed: .*embed: {"):
        Resources(file).of("embed")


def test_a_job_of_several_processes_needs_as_many_gpus_and_as_much_memory(tmp_path):
    file = tmp_path / "resources.yaml"
    file.write_text("train: {mem_mb: 4000, runtime: 20, gpu: 1}\n")
    needs = Resources(file).of("train", int)
    assert needs["gpu"](1) == 1
    assert needs["gpu"](4) == 4
    assert needs["mem_mb"](4, attempt=2) == 32000
    assert needs["runtime"](4, attempt=2) == 40


@pytest.mark.parametrize(("cores", "jobs", "said"), [(0, None, "--cores 0"), (4, -1, "--jobs -1")])
def test_calls_that_would_wait_forever_are_refused(cores, jobs, said):
    call.check_numbers(1, None)
    call.check_numbers(None, 100)
    with pytest.raises(UserError, match=said):
        call.check_numbers(cores, jobs)


def test_results_are_a_folder_or_not_there_yet(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    for fine in (".", "results", "new/results", str(tmp_path / "new")):
        call.check_results(fine)
    for wrong in ("file", "file/results", str(tmp_path / "file")):
        with pytest.raises(UserError, match="file is not a folder"):
            call.check_results(wrong)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "results: is missing"),
        ({"pathvars": {"results": "~/x"}}, r"'~/x': ~ is not expanded here; allowed: .*/x$"),
        ({"pathvars": {"results": ""}}, "is not a path"),
    ],
)
def test_a_folder_of_results_is_named_in_full(config, said):
    with pytest.raises(UserError, match=said):
        call.results_folder(config)
    assert call.results_folder({"pathvars": {"results": "x/y"}}) == "x/y"


def test_a_call_ends_with_what_to_read(configured):
    loaded = configured.load(studies=["mine", "demo"])
    results = loaded.configuration.pathvars.results
    asked = ["demo", "help", "demo_table_recall", "demo_table_none", "demo"]
    assert pages.to_read(loaded, asked) == [
        f"{results}/report.html",
        f"{results}/studies/demo/tables/recall.md",
    ]


def test_a_page_of_all_papers_needs_one_among_the_studies(configured):
    loaded = configured.load(studies=["demo"])
    assert pages.papers(loaded, ["demo", "can2019"], "claims") == ["demo"]
    message = "no claims of the studies demo; with claims: can2019, roth2020"
    with pytest.raises(UserError, match=message):
        pages.papers(loaded, ["can2019", "roth2020"], "claims")
