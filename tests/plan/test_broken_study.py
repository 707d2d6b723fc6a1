"""A broken file in config/studies stops its studies and what needs all of them, nothing else."""

import pytest
from dmlbench.errors import UserError
from dmlbench.plan import load_unless_checked
from dmlbench.plan.catalogs.configuration import Configuration
from dmlbench.plan.costs import status_lines
from dmlbench.plan.load import reload
from dmlbench.plan.records.unused import unused
from dmlbench.plan.views import views
from dmlbench.plan.views.targets import unknown_target

OWN = {"pathvars": {"results": "results"}}
TORN = "torn.yaml: not YAML"
WRONG = "wrong.yaml: tables.one.where: fits none"


@pytest.fixture
def broken(configured):
    """One study that can be used, one that cannot be read, one of which no row is shown."""
    for file in (configured.folder / "studies").glob("*.yaml"):
        if file.stem != "mine":
            file.unlink()
    (configured.folder / "studies" / "torn.yaml").write_text("title: [\n")
    wrong = configured.read("studies/mine")
    kind = {"name": "scores_by_method", "metrics": ["recall_at_1"]}
    wrong["tables"] = {"one": {"title": "T", "where": {"seed": 9}, "kind": kind}}
    configured.write("studies/wrong", wrong)
    return configured


@pytest.fixture
def plan(broken):
    return load_unless_checked(OWN, broken.folder, broken.folder / ".checked")


def test_the_others_are_planned(plan):
    assert list(plan.studies) == ["mine"]
    assert plan.runs()
    assert plan.broken.keys() == {"torn", "wrong"}
    assert TORN in plan.broken["torn"]
    assert WRONG in plan.broken["wrong"]


def test_what_is_broken_is_checked_in_every_call(broken, plan):
    assert not (broken.folder / ".checked").exists()
    (broken.folder / "studies" / "torn.yaml").unlink()
    (broken.folder / "studies" / "wrong.yaml").unlink()
    assert not load_unless_checked(OWN, broken.folder, broken.folder / ".checked").broken
    assert (broken.folder / ".checked").exists()


@pytest.mark.parametrize("name", ["torn", "torn_table_1", "torn_tournament"])
def test_a_target_of_a_broken_study_says_what_is_wrong(plan, name):
    assert TORN in str(unknown_target(plan, name, ["mine", "help"]))


def test_a_study_whose_name_begins_alike_is_another_one(plan):
    assert "unknown target 'tornado'" in str(unknown_target(plan, "tornado", ["mine"]))


@pytest.mark.parametrize(("study", "said"), [("torn", TORN), ("wrong", WRONG)])
def test_a_file_of_a_broken_study_says_what_is_wrong(plan, study, said):
    with pytest.raises(UserError, match=said):
        plan.study(study)
    with pytest.raises(UserError, match=said):
        views.view(plan, study, "tournament", None)


def test_what_needs_all_studies_stops(broken, plan):
    with pytest.raises(UserError, match=TORN):
        plan.check_all_studies()
    with pytest.raises(UserError, match=TORN):
        unused(Configuration.model_validate(OWN), broken.folder)


def test_only_named_studies_must_be_whole(broken):
    assert list(broken.load("mine").studies) == ["mine"]


@pytest.mark.parametrize("lines", [status_lines.targets, status_lines.status])
def test_overviews_show_the_others_and_what_is_wrong(broken, lines):
    broken.change("studies/wrong", ["runs", 0, "method"], ["nothing"])
    shown = "\n".join(lines(reload(OWN, broken.folder), gpu=False))
    assert "mine" in shown
    assert TORN in shown
    assert "wrong.yaml: runs.0.method: unknown method 'nothing'" in shown


def test_a_name_that_no_target_can_have_is_broken(broken):
    (broken.folder / "studies" / "My-Study.yaml").write_text("title: T\n")
    plan = load_unless_checked(OWN, broken.folder, broken.folder / ".checked")
    assert "a study is a target by its file's name" in plan.broken["My-Study"]
