"""One fault of each kind in the fault lab, and what another clone makes of edited code."""

import os
import random

import pytest
from dmlbench.plan import paths
from fault_kinds import KINDS, changed_best
from laboratory import TARGETS, Lab, contents

pytestmark = pytest.mark.workflow

LIBRARY = "workflow/scripts/dmlbench"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return Lab(tmp_path_factory.mktemp("lab"))


@pytest.fixture
def clone(lab):
    """A fresh clone of the project on the same results."""
    with lab.broken(clone=True) as broken:
        yield broken


def test_the_study_has_jobs_of_all_rules(lab):
    # Features of other programs and certificates have tests of their own.
    elsewhere = {"vectors", "certificate"}
    assert lab.jobs.keys() == {rule for rule in paths.RULES if paths.outputs(rule)} - elsewhere


@pytest.mark.parametrize("kind", KINDS)
def test_no_fault_is_silent(lab, kind):
    outcome = KINDS[kind](lab, 0, random.Random(kind))
    if outcome is None:
        pytest.skip("mounting a disk is not allowed here")
    assert outcome.word != "silent", outcome.note


def edit(clone, name, old, new):
    path = clone.folder / name
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def planned(clone):
    return clone.call("--dry-run", "--", *TARGETS)


def test_a_clone_with_the_same_code_finds_everything_done(clone):
    said = planned(clone)
    assert "Nothing to be done" in said.text
    assert said.lines == []
    verified = clone.call("--", "verify")
    assert verified.status == 0, verified.text
    assert "toy: complete; " in verified.text
    assert "of all studies: complete; " in verified.text


def test_a_copy_without_dates_finds_everything_done(clone):
    files = sorted(path for path in clone.results.rglob("*") if path.is_file())
    for place, path in enumerate(random.Random(0).sample(files, len(files))):
        os.utime(path, (1e9 + 60 * place,) * 2)
    assert "Nothing to be done" in planned(clone).text


def test_an_edited_input_of_a_later_date_is_read(clone):
    """Its job then names it: dates do not count where files are what their records say."""
    (scores,) = clone.results.glob("studies/toy/scores.parquet")
    scores.write_bytes(scores.read_bytes()[::-1])
    os.utime(scores, (4e9, 4e9))
    assert "Nothing to be done" not in planned(clone).text


def test_a_corrected_metric_reaches_scores_and_tables(lab, clone):
    old = "return (ranks.first <= k).astype(np.float64)"
    edit(clone, f"{LIBRARY}/evaluation/retrieval.py", old, old.replace("<= k", "<= k + 1"))
    assert clone.call("--", *TARGETS).status == 0
    after = contents(clone.results)
    changed = {name for name in after if after[name] != lab.expected[name]}
    tables = {name for name in changed if name.endswith(("recall.csv", "folds.csv"))}
    scores = {name for name in changed if name.endswith("/scores.parquet")}
    assert len(tables) == 2
    assert len(scores) == 1 + len(lab.jobs["evaluate"])
    # Weights stay: no training ran.
    assert not {name for name in changed if name.endswith((".safetensors", "history.parquet"))}


def test_a_metric_that_is_added_to_a_table_is_computed(clone):
    edit(clone, "config/studies/toy.yaml", "      - pi_ratio\n", "      - pi_ratio\n      - rho\n")
    (csv,) = clone.results.glob("studies/toy/tables/structure.csv")
    before = csv.read_text()
    assert clone.call("--", *TARGETS).status == 0
    assert csv.read_text() != before
    assert "rho" in csv.read_text()


def test_an_edited_loss_of_the_same_version_is_named(clone):
    edit(clone, f"{LIBRARY}/losses/contrastive.py", "(S - self.margin)", "(S - 1)")
    (line,) = (line for line in planned(clone).lines if "of train" in line)
    assert "ran other code of losses/contrastive" in line


def test_a_tuned_run_of_another_search_is_named(clone):
    changed_best(clone)
    (line,) = (line for line in planned(clone).lines if "took other values" in line)
    assert "runs/drawn/" in line
    assert "best.yaml" in line
