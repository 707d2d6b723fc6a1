"""Properties of every study: its views, its results, its rows."""

import functools

import numpy as np
import pandas as pd
import pytest
from dmlbench import registry
from dmlbench.plan.catalogs.choices import SplitRule
from dmlbench.plan.specs.spec import Spec
from dmlbench.plan.views import pages, views
from dmlbench.plan.views.views import View
from dmlbench.samplers import build_sampler
from project import STUDIES, every_rehearsal, every_study

CITED = {("psomas2020", "figure_07"), ("psomas2020", "figure_12")}
"""Results (study, id) that a document cites from others."""
OFFICIAL = {"sop": 11_318, "omniglot": 964}
"""Classes of the official training subset."""
IMAGES = 8
"""Images of each class in an index that has no files."""


@pytest.fixture(scope="module", params=STUDIES)
def study(request):
    return request.param


@pytest.fixture(scope="module")
def loaded():
    return every_study()


@pytest.fixture(scope="module")
def rehearsed():
    return every_rehearsal()


def test_each_view_shows_rows_of_one_selection_rule_or_experiments(study, loaded):
    for name, view in views.views(loaded, study).items():
        rows = views.trained_rows(loaded, study, view.where)
        assert rows or view.experiments or views.printed_files(loaded, study, view), name
        rules = {loaded.spec(row).selection for row in rows}
        assert len(rules) <= 1, name


def test_each_view_can_be_asked_for_by_name(study, loaded):
    description = loaded.studies[study]
    names = [f"{study}_table_{name}" for name in description.tables]
    maps = (*description.figures, *description.embedding_maps)
    names += [f"{study}_figure_{name}" for name in maps]
    names += [f"{study}_claims"] if description.audit == study else []
    targets = pages.targets(loaded, study)
    assert sorted(targets) == sorted(names)
    files = [file for found in targets.values() for file in found]
    assert len(files) == len(set(files))
    assert set(files) <= set(pages.files(loaded, study))


def test_the_facts_of_a_view_are_plain_values(study, loaded):
    for kind, found in views_of(loaded.studies[study]).items():
        for name in found:
            facts = views.facts(loaded, study, kind, name)
            assert len(facts["rows"]) >= len(facts["methods"])


def views_of(description) -> dict[str, list[str | None] | dict[str, View]]:
    return {
        "tournament": [None] if description.tournament else [],
        "table": description.tables,
        "figure": description.figures,
        "map": description.embedding_maps,
    }


def test_a_job_reads_the_spec_that_was_planned(study, loaded):
    """Snakemake passes plain values to a job; those of equal specs are read once."""
    planned = {run.spec.digest: run.spec for run in loaded.runs(study)}
    for spec in planned.values():
        assert Spec.model_validate(spec.as_dict()) == spec


def test_the_training_classes_fill_a_batch(study, loaded):
    """A sampler that draws more classes than there are would stop the training when it begins."""
    cases = {}
    for run in loaded.runs(study):
        spec = run.spec
        if spec.epochs:
            parts = (spec.split.model_dump_json(), spec.fold, spec.sampler.model_dump_json())
            cases[spec.dataset, *parts, spec.batch_size] = spec
    for spec in cases.values():
        split, classes = spec.split.model_dump_json(), loaded.datasets[spec.dataset].classes
        labels = training_labels(classes, OFFICIAL.get(spec.dataset), split, spec.fold)
        options = spec.sampler.hyperparameters
        assert build_sampler(spec.sampler.name, labels, batch_size=spec.batch_size, **options)


@functools.cache
def training_labels(classes, official, split, fold):
    """The labels of a split's training images in an index of that many classes."""
    rule = SplitRule.model_validate_json(split)
    label = np.repeat(np.arange(classes or 200), IMAGES)
    trains = label < official if official else np.arange(len(label)) % 2 == 0
    subset = np.where(trains, "train", "test")
    index = pd.DataFrame({"image_id": range(len(label)), "label": label, "subset": subset})
    roles = registry.build("data/splits", rule.name, **rule.hyperparameters)(index)
    roles = roles[(roles.role == "train") & (roles.fold == (-1 if fold is None else fold))]
    return np.unique(label[roles.image_id], return_inverse=True)[1]


@pytest.mark.slow
def test_a_rehearsal_keeps_rows_and_names(study, loaded, rehearsed):
    assert rehearsed.rows(study) == loaded.rows(study)
    assert pages.targets(rehearsed, study).keys() == pages.targets(loaded, study).keys()
    assert len(rehearsed.runs(study)) <= len(loaded.runs(study))


def test_a_rehearsal_trains_few_seeds_and_folds(study, loaded, rehearsed):
    toy = rehearsed.configuration.rehearsal
    for row in rehearsed.rows(study):
        spec = rehearsed.spec(row)
        assert spec.seed in range(toy.seeds)
        if row.fold is None:
            assert spec.fold is None
        else:
            assert spec.fold in range(toy.folds)
            assert loaded.spec(row).fold == row.fold


def test_every_result_of_the_document_has_a_view(study, loaded, shared):
    index = pd.read_csv(shared / "reference" / "INDEX.csv", dtype=str)
    results = {(study, name) for name in index[index.study == study].id} - CITED
    description = loaded.studies[study]
    shown = {f"table_{name}" for name in description.tables}
    shown |= {f"figure_{name}" for name in (*description.figures, *description.embedding_maps)}
    assert {name.lower() for _, name in results} <= shown
