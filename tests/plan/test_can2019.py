"""can2019's studies against the text."""

import dataclasses

import pandas as pd
import pytest
from dmlbench.plan import Row
from dmlbench.plan.catalogs.where import Where
from dmlbench.samplers import build_sampler
from project import every_study

STUDY = "can2019"
OMNIGLOT = ["can2019_omniglot", "can2019_omniglot_sweeps"]
TUPLES = ["contrastive", "triplet", "lifted_structure", "n_pair", "angular", "margin"]
TUPLES += ["multi_similarity"]
ARM = {"sampler", "regularizers"}
"""What PROFS changes of a spec."""


@pytest.fixture(scope="module")
def loaded():
    return every_study()


@pytest.fixture(scope="module")
def settings(shared):
    folder = shared / "reference" / STUDY
    general = pd.read_csv(folder / "settings_general.csv", dtype=str)
    return general.set_index(["scope", "parameter"]).value


def spec(loaded, dataset, network, method, variant=""):
    split = "official" if dataset == "sop" else "half"
    return loaded.spec(Row(STUDY, dataset, network, 512, method, STUDY, variant, split, None, 0))


def specs(loaded, **where):
    return {row: loaded.spec(row) for row in loaded.rows(STUDY, Where(**where))}


def differing(one, other):
    one, other = one.as_dict(), other.as_dict()
    return {key for key in one if one[key] != other[key]}


def test_every_training_has_the_printed_protocol(loaded, settings):
    for row, found in specs(loaded).items():
        rate = settings["sop" if row.dataset == "sop" else "cub200,cars196", "learning_rate"]
        assert found.optimizer.learning_rate == float(rate), row
        assert (found.optimizer.name, found.optimizer.betas) == ("adam", (0.9, 0.99))
        assert found.batch_size == int(settings["all", "batch_size"])
        assert found.head_factor == float(settings["all", "fc_lr_multiplier"])
        assert found.embedding_dim == int(settings["all", "embedding_dim"])
        assert (found.epochs, found.selection) == (100, "best_test_epoch")
        assert found.schedule is None


def test_lambda_is_the_printed_one_and_figure_3_is_around_it(loaded, settings):
    printed = float(settings["all", "lambda"])
    for found in specs(loaded, variant=["profs", "profs_hncm"]).values():
        (proximity,) = found.regularizers
        assert (proximity.name, proximity.hyperparameters["weight"]) == ("proximity", printed)
    swept = specs(loaded, variant="profs,lambda", dataset="cub200").values()
    weights = sorted(found.regularizers[0].hyperparameters["weight"] for found in swept)
    assert weights[0] == 0
    assert {1e-4, printed, 1e-2} < set(weights)
    assert weights[-1] > 1e-2


def test_m_is_the_one_that_the_printed_rule_gives(loaded, shared):
    derived = pd.read_csv(shared / "reference" / STUDY / "settings_derived_M.csv")
    for row in derived.itertuples():
        found = spec(loaded, row.dataset, "googlenet_torchvision", "margin", "profs")
        sampler = build_sampler(
            found.sampler.name,
            [label for label in range(row.training_classes_L) for _ in range(2)],
            batch_size=found.batch_size,
            **found.sampler.hyperparameters,
        )
        assert sampler.iterations_per_projection == row.M
        swept = specs(loaded, dataset=row.dataset, variant="profs,iterations", method="margin")
        lengths = [s.sampler.hyperparameters["iterations_per_projection"] for s in swept.values()]
        assert row.M in lengths
        assert min(lengths) < row.M < max(lengths)


@pytest.mark.parametrize("dataset", ["cub200", "sop"])
def test_profs_changes_batches_and_proximity_and_nothing_else(loaded, dataset):
    for method in TUPLES:
        base = "hard" if method in ("contrastive", "triplet", "margin") else ""
        plain = spec(loaded, dataset, "googlenet_torchvision", method, base)
        for arm in ("profs", "profs_hncm"):
            changed = spec(loaded, dataset, "googlenet_torchvision", method, arm)
            assert differing(plain, changed) == ARM, method
            assert changed.sampler.name == arm
            images = [s.sampler.hyperparameters["images_per_class"] for s in (plain, changed)]
            assert images == [2, 2]


def test_soft_triple_gains_from_the_regularization_alone(loaded):
    """Section 5.5; its classes are mined among its centers."""
    plain, profs, mined = (
        spec(loaded, "cub200", "bninception", "soft_triple", variant)
        for variant in ("", "profs", "profs_hncm")
    )
    assert differing(plain, profs) == {"regularizers"}
    assert differing(plain, mined) == ARM
    assert (profs.sampler.name, mined.sampler.name) == ("random", "profs_hncm")


def test_mining_is_that_of_section_5_3(loaded):
    def mined(network, method, variant):
        miner = spec(loaded, "cars196", network, method, variant).miner
        return miner and miner.name

    for variant in ("hard", "profs", "profs_hncm"):
        assert mined("googlenet_torchvision", "contrastive", variant) == "hard_pairs"
        assert mined("googlenet_torchvision", "margin", variant) == "hard_pairs"
        assert mined("googlenet_torchvision", "triplet", variant) == "hard"
        triplets = spec(loaded, "cars196", "googlenet_torchvision", "triplet", variant).miner
        assert triplets.hyperparameters["positives"] == "all"
    assert mined("googlenet_torchvision", "triplet", "semi_hard") == "semi_hard"
    for variant in ("", "profs", "profs_hncm"):
        assert mined("resnet50", "margin", variant) == "distance_weighted_pairs"
        assert mined("googlenet_torchvision", "angular", variant) is None


def test_on_omniglot_all_arms_of_a_loss_see_equally_many_batches(loaded):
    for study in OMNIGLOT:
        for row in loaded.rows(study):
            found = loaded.spec(row)
            plain = loaded.spec(dataclasses.replace(row, variant=""))
            assert differing(plain, found) <= ARM
            assert found.sampler.hyperparameters["images_per_class"] == 4
            assert (found.batch_size, found.epochs * found.iterations_per_epoch) == (64, 600)
            assert found.selection == "last_epoch"


def test_the_arms_on_omniglot_are_ten_projections(loaded):
    for variant, name in (("profs", "profs"), ("profs_hncm", "profs_hncm")):
        (row, *_) = loaded.rows(OMNIGLOT[0], Where(method="margin", variant=variant))
        found = loaded.spec(row)
        labels = [label for label in range(964) for _ in range(20)]
        options = found.sampler.hyperparameters
        sampler = build_sampler(name, labels, batch_size=found.batch_size, **options)
        assert -(-600 // sampler.iterations_per_projection) == 10


def test_sweeps_share_their_trainings_with_the_study(loaded):
    shared = {loaded.run(row) for row in loaded.rows(OMNIGLOT[0])}
    swept = {loaded.run(row) for row in loaded.rows(OMNIGLOT[1])}
    assert (len(shared), len(swept), len(shared & swept)) == (36, 30, 6)
