"""A published study and one more loss: what is written, what it plans, what is refused."""

import csv
import shutil

import pytest
from dmlbench import plan
from dmlbench.errors import UserError
from dmlbench.plan.new_studies.extended_study import extend
from dmlbench.plan.new_studies.forgotten import forget
from dmlbench.plan.specs import searches
from project import CONFIG, REPOSITORY

STUDY = "psomas2020_birds_swaps"
BINS = {"loss.bins": {"low": 5, "high": 100, "integer": True}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The configuration, and what is published of one study."""
    root = tmp_path_factory.mktemp("extended")
    shutil.copytree(CONFIG, root / "config")
    for file in (root / "config/studies").glob("*.yaml"):
        if file.stem not in (STUDY, "demo"):
            file.unlink()
    published = f"results/published/{STUDY}"
    shutil.copytree(REPOSITORY / published, root / published)
    return root


def loaded(folder, *studies):
    own = [f"{folder / 'own'}/*"]
    given = {"pathvars": {"results": "results"}, "own": own, "studies": list(studies)}
    return plan.load(given, folder / "config")


def test_one_loss_is_tuned_and_trained_like_the_others(folder):
    files = extend(folder / "config", folder / "own", STUDY, "histogram", BINS)
    assert [file.name for file in files] == [f"{STUDY}_histogram.yaml", "searches.yaml"]
    extended = loaded(folder, f"{STUDY}_histogram")
    with (REPOSITORY / "results/published" / STUDY / "runs.csv").open() as file:
        known = {row["run"] for row in csv.DictReader(file)}
    new = [run for run in extended.runs(f"{STUDY}_histogram") if run.folder not in known]
    assert [run.spec.loss.name for run in new] == ["histogram"] * 6
    rows = [row for row in extended.rows(f"{STUDY}_histogram") if row.method == "histogram"]
    assert [row.split for row in rows if "swapped" not in row.split] == [
        "half",
        "half_draw1",
        "half_draw2",
    ]
    like, own = (
        searches.search_facts(extended, f"heads_cub200_160_{loss}_128_folds_half_swapped")
        for loss in ("contrastive", "histogram")
    )
    assert own["strategy"] == like["strategy"]
    assert own["budget"] == like["budget"]
    assert list(own["parameters"]) == ["optimizer.learning_rate", "loss.bins"]
    ranked = extended.studies[f"{STUDY}_histogram"].tournament.where.method
    assert ranked[-1] == "histogram"
    assert len(ranked) == 13

    forget(folder / "config", folder / "own", f"{STUDY}_histogram")
    assert list((folder / "own").iterdir()) == []


@pytest.mark.parametrize(
    ("study", "loss", "tuned", "message"),
    [
        ("psomas2020_birds_swap", "histogram", {}, "did you mean 'psomas2020_birds_swaps'"),
        (STUDY, "histogramm", {}, "did you mean 'histogram'"),
        (STUDY, "triplet", {}, "has triplet; allowed: a loss that it has not"),
        ("demo", "histogram", {}, "has no published runs"),
        (STUDY, "cosface", BINS, "cosface needs no new searches"),
        (STUDY, "histogram", {"loss.margin": BINS["loss.bins"]}, "'margin'; allowed: bins"),
        (STUDY, "histogram", {"loss.bins": {"low": 9, "high": 5}}, "allowed: low below high"),
    ],
)
def test_what_cannot_be_extended_leaves_nothing(folder, study, loss, tuned, message):
    with pytest.raises(UserError, match=message):
        extend(folder / "config", folder / "own", study, loss, tuned)
    assert not any((folder / "own").glob("*"))
