"""karaman2021's study against the thesis, and its rehearsal."""

import csv
import re
from collections import Counter
from fractions import Fraction

import pytest
import torch
from dmlbench.losses import build_loss
from dmlbench.plan.studies.mapping import read_mapping, table_id
from dmlbench.plan.views import pages
from project import CONFIG, every_rehearsal, every_study

REFERENCE = CONFIG / "reference" / "karaman2021"
STUDY = "karaman2021"
OPTIONS = {"m": "margin", "m_1": "m1", "m_2": "m2"}


@pytest.fixture(scope="module")
def loaded():
    return every_study()


@pytest.fixture(scope="module")
def rehearsed():
    return every_rehearsal()


@pytest.fixture(scope="module")
def by_place(loaded):
    """(method, variant) -> the rows of the open-set split."""
    found = {}
    for row in loaded.rows(STUDY):
        if row.split == "open-4fold":
            found.setdefault((row.method, row.variant), []).append(row)
    return found


def printed():
    """The cells of R@1 on CUB, one per printed row."""
    for path in sorted(REFERENCE.glob("table_*.csv")):
        with path.open(newline="") as file:
            for cell in csv.DictReader(file):
                if cell["metric"] == "recall_at_1" and cell["dataset"] == "cub200":
                    yield cell | {"table": table_id(cell["table"])}


def test_every_printed_hyper_parameter_reaches_its_loss(loaded, by_place):
    mapping = read_mapping(REFERENCE)
    for cell in printed():
        if not cell["variant"]:
            continue
        place = mapping.place(cell)
        for row in by_place[place.method, place.variant]:
            options = loaded.spec(row).loss.hyperparameters
            for part in cell["variant"].split(";"):
                name, _, value = part.partition("=")
                if name == "no_hinge":
                    assert options.get("hinge") is False or options["m2"] == 1000
                else:
                    assert options[OPTIONS.get(name, name)] == pytest.approx(float(Fraction(value)))


def test_the_best_rows_are_trainings_of_the_tables_that_they_repeat(loaded, by_place):
    mapping = read_mapping(REFERENCE)
    cells = list(printed())
    repeated = [cell for cell in cells if cell["table"] in ("4_13", "4_14")]
    assert len(repeated) == 19
    for cell in repeated:
        number, method, variant = re.match(
            r"equals Table 4\.(\d+) (\w+) ?([^;]*)", cell["note"].replace("bold;", "")
        ).groups()
        parts = sorted(part for part in variant.split(",") if "=" in part or part == "no_hinge")
        (source,) = (
            other
            for other in cells
            if other["table"] == f"4_{int(number):02d}"
            and other["method"] == method
            and sorted(filter(None, other["variant"].split(";"))) == parts
        )
        places = [mapping.place(some) for some in (cell, source)]
        one, other = (
            [loaded.run(row).folder for row in by_place[place.method, place.variant]]
            for place in places
        )
        assert one == other


def test_the_protocol_is_the_printed_one(loaded):
    for row in loaded.rows(STUDY):
        spec = loaded.spec(row)
        assert (spec.epochs, spec.iterations_per_epoch, spec.batch_size) == (500, 1000, 32)
        assert (spec.optimizer.name, spec.optimizer.learning_rate) == ("rmsprop", 1e-6)
        assert (spec.head_factor, spec.embedding_dim) == (1, 128)
        assert spec.sampler.hyperparameters == {"images_per_class": 8}
        assert (spec.patience, spec.evaluate_every) == (100, 1)
        assert (spec.selection, spec.selection_metric) == ("best_validation_epoch", "map_at_r")
        assert spec.miner is None
        assert spec.normalize
        assert spec.network.backbone.name == "resnet18_logits"
        assert spec.fold in (0, 1, 2, 3)


def test_each_setting_has_four_folds_and_is_trained_once(loaded, by_place):
    assert {len(rows) for rows in by_place.values()} == {4}
    # The other reading of the head has no printed row.
    settings = {
        loaded.run(row).folder
        for rows in by_place.values()
        for row in rows
        if "head_inputs" not in row.variant
    }
    # 168 printed rows on CUB, of which 19 repeat others and table 4.11 repeats two of table 4.10.
    assert len(list(printed())) == 168
    assert len(settings) == 4 * (168 - 19 - 2)


def test_settings_that_are_one_training_are_repeats_with_seeds_of_their_own(loaded, by_place):
    """On the unit sphere some margins never clamp, and so they change no gradient."""
    names = {}
    for (method, _), rows in by_place.items():
        if method not in ("ranking", "moving", "location_aware"):
            continue
        spec = loaded.spec(rows[0])
        options = {"name": spec.loss.name, **spec.loss.hyperparameters}
        key = (spec.loss.name, gradient_on_the_sphere(**options))
        names.setdefault(key, {})[str(sorted(options.items()))] = rows[0].seed
    repeated = [seeds for seeds in names.values() if len(seeds) > 1]
    for seeds in repeated:
        assert sorted(seeds.values()) == list(range(len(seeds))), seeds
    assert sum(len(seeds) - 1 for seeds in repeated) == 17


def gradient_on_the_sphere(name, **options):
    """Of a batch with equal and opposite points in a class, rounded, as bytes.

    No negative coincides with its anchor: the moving loss clamps there at any margin.
    """
    generator = torch.Generator().manual_seed(0)
    x = torch.nn.functional.normalize(torch.randn(32, 6, generator=generator)).double()
    x[1], x[2] = -x[0], x[0]
    # Nearly: at a distance of exactly 0 or 2 some gradients are not defined.
    x = torch.nn.functional.normalize(x + 1e-3 * torch.randn(32, 6, generator=generator))
    x.requires_grad_()
    loss = build_loss(name, num_classes=4, embedding_dim=6, **options)
    (gradient,) = torch.autograd.grad(loss(x, torch.arange(32) // 8), x)
    return (gradient.round(decimals=8) + 0.0).numpy().tobytes()


def test_a_rehearsal_trains_few_of_them(loaded, rehearsed):
    assert rehearsed.rows(STUDY) == loaded.rows(STUDY)
    assert pages.targets(rehearsed, STUDY).keys() == pages.targets(loaded, STUDY).keys()
    assert len(rehearsed.runs(STUDY)) < 64
    losses = Counter(row.method for row in rehearsed.rows(STUDY))
    assert losses == Counter(row.method for row in loaded.rows(STUDY))
    (hinge,) = {
        rehearsed.spec(row).loss.hyperparameters["hinge"]
        for row in rehearsed.rows(STUDY)
        if "hinge" in row.variant
    }
    assert hinge is False


def test_photographs_and_handwriting_have_the_same_settings():
    plan = every_study()

    def settings(study):
        return {
            (row.method, row.variant): plan.run(row).spec.loss
            for row in plan.rows(study)
            if row.variant in ("without_miner", "with_miner")
        }

    here, there = settings("karaman2021_grocery"), settings("karaman2021_omniglot")
    assert len(here) == 2 * 7
    assert here == {place: there[place] for place in here}


def test_table_2_1_counts_what_the_catalogue_counts(loaded):
    """Of the data sets that are here; their images are counted when they are indexed."""
    with (REFERENCE / "settings_table_2_01.csv").open(newline="") as file:
        printed = {row["name"].split()[0]: row for row in csv.DictReader(file)}
    for name, dataset in (("CUB200-2011", "cub200"), ("Stanford", "cars196")):
        entry = loaded.datasets[dataset]
        assert int(printed[name]["classes"]) == entry.classes
        assert int(printed[name]["images"].replace(",", "")) == entry.images
