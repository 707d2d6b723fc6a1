"""musgrave2020's studies against the paper's protocol: searches, reruns, shared runs."""

from dataclasses import replace

import pandas as pd
import pytest
import torch
from dmlbench.losses import build_loss
from dmlbench.plan.catalogs.places import place_value, with_values
from dmlbench.plan.specs import combinations, searches
from project import CONFIG, every_study, load_studies

STUDY, OMNIGLOT = "musgrave2020", "musgrave2020_omniglot"
# Table 6, by its column "Loss type".
EMBEDDING = {"contrastive", "triplet", "margin", "fastap", "snr_contrastive"}
EMBEDDING |= {"multi_similarity", "multi_similarity_miner"}
CLASSIFICATION = {"proxy_nca", "normalized_softmax", "cosface", "arcface", "soft_triple"}
DATASETS = ("cub200", "cars196", "sop")
LOSSES = sorted(EMBEDDING | CLASSIFICATION)
NAMES = [f"{dataset}_{loss}" for dataset in DATASETS for loss in LOSSES]


# The bounds of the trials that the authors published; uniform, except for these two.
LOGARITHMIC = {"loss_learning_rate", "loss.temperature"}
BOUNDS = {
    ("contrastive", "loss.positive_margin"): (-0.2, 2),
    ("contrastive", "loss.margin"): (-0.2, 2),
    ("triplet", "loss.margin"): (-0.2, 2),
    ("margin", "loss.margin"): (-0.2, 2),
    ("normalized_softmax", "loss.temperature"): (0.01, 100),
    ("cosface", "loss.margin"): (0, 1),
    ("cosface", "loss.scale"): (0.01, 200),
    ("arcface", "loss.margin"): (0, 90),
    ("arcface", "loss.scale"): (0.01, 300),
    ("multi_similarity", "loss.alpha"): (0.01, 100),
    ("multi_similarity", "loss.beta"): (0.01, 100),
    ("multi_similarity", "loss.margin"): (0, 1),
    ("multi_similarity_miner", "loss.alpha"): (0.01, 100),
    ("multi_similarity_miner", "loss.beta"): (0.01, 100),
    ("multi_similarity_miner", "loss.margin"): (0, 1),
    ("multi_similarity_miner", "miner.epsilon"): (0, 1),
    ("soft_triple", "loss.alpha"): (0.01, 200),
    ("soft_triple", "loss.margin"): (0, 1),
    # Twice the code's weight.
    ("soft_triple", "loss.tau"): (0, 2),
}


@pytest.fixture(scope="module")
def loaded():
    return every_study()


@pytest.fixture(scope="module")
def omniglot():
    return every_study()


def test_the_losses_are_those_of_table_6(loaded):
    trained = {row.method for row in loaded.rows(STUDY)} - {"untrained"}
    assert trained == EMBEDDING | CLASSIFICATION


@pytest.mark.parametrize("name", NAMES)
def test_a_search_makes_fifty_trials_of_four_folds(loaded, name):
    search = loaded.searches[name]
    assert (search.budget, search.folds, search.pruner) == (50, [0, 1, 2, 3], None)
    for spec in searches.trial_specs(loaded, name):
        assert spec.selection_metric == "map_at_r"
        assert spec.batch_size == 32
        images = 4 if search.run.method in EMBEDDING else 1
        assert spec.sampler.hyperparameters["images_per_class"] == images
        assert (spec.optimizer.name, spec.optimizer.learning_rate) == ("rmsprop", 1e-6)
        assert spec.frozen_batchnorm == "both"


def test_reruns_train_what_the_trials_of_their_search_do(loaded):
    rows = [row for row in loaded.rows(STUDY) if row.variant == "tuned"]
    assert len(rows) == 3 * 12 * 4 * 10
    assert {loaded.search_of(row) for row in rows} == set(NAMES)
    for row in rows:
        if row.seed == 0:
            tried = searches.trial_specs(loaded, loaded.search_of(row))[row.fold]
            assert loaded.spec(row).model_copy(update={"search": None}) == tried


def test_every_loss_that_learns_has_its_rate_searched(loaded):
    learned = {name for name in NAMES if "loss_learning_rate" in loaded.searches[name].parameters}
    losses = {name.partition("_")[2] for name in learned}
    assert losses == CLASSIFICATION | {"margin"}


@pytest.mark.parametrize("dataset", DATASETS)
def test_ranges_are_those_of_the_published_trials(loaded, dataset):
    for (loss, place), (low, high) in BOUNDS.items():
        if (dataset, place) == ("sop", "loss.tau"):
            assert place not in loaded.searches["sop_soft_triple"].parameters
            continue
        parameter = loaded.searches[f"{dataset}_{loss}"].parameters[place]
        if dataset == "sop" and place in ("loss.alpha", "loss.beta"):
            high = 200
        assert (parameter.low, parameter.high) == (low, high), (loss, place)
        assert parameter.log == (place in LOGARITHMIC), (loss, place)
    for name in ("proxy_nca", "margin", "normalized_softmax", "cosface", "arcface", "soft_triple"):
        rate = loaded.searches[f"{dataset}_{name}"].parameters["loss_learning_rate"]
        assert (rate.low, rate.high, rate.log) == (1e-6, 1, True)


@pytest.mark.parametrize("dataset", DATASETS)
def test_what_is_the_inverse_of_the_published_parameter_is_searched_alike(loaded, dataset):
    for loss, place in (("proxy_nca", "loss.temperature"), ("soft_triple", "loss.gamma")):
        parameter = loaded.searches[f"{dataset}_{loss}"].parameters[place]
        assert (1 / parameter.high, 1 / parameter.low) == (parameter.low, parameter.high)
        assert (parameter.low, parameter.log) == (0.01, True)


@pytest.mark.parametrize("dataset", DATASETS)
def test_proxy_nca_is_a_cross_entropy_over_all_proxies(loaded, dataset):
    """Line 41 of the text: cross entropy, applied to the distances to the class vectors."""
    for spec in searches.trial_specs(loaded, f"{dataset}_proxy_nca"):
        context = {"num_classes": 5, "embedding_dim": 3}
        loss = build_loss(spec.loss.name, **context, **spec.loss.hyperparameters)
        generator = torch.Generator().manual_seed(0)
        x = torch.nn.functional.normalize(torch.randn(7, 3, generator=generator))
        proxies = torch.nn.functional.normalize(loss.proxies.detach())
        labels = torch.tensor([0, 1, 2, 3, 4, 0, 1])
        logits = -torch.cdist(x, proxies).square()
        logits /= spec.loss.hyperparameters.get("temperature", 1)
        expected = torch.nn.functional.cross_entropy(logits, labels)
        torch.testing.assert_close(loss(x, labels).detach(), expected)


def test_no_center_is_pulled_to_another_on_sop(loaded):
    """The authors publish four best values of SoftTriple on SOP and five elsewhere."""
    for dataset in DATASETS:
        search = loaded.searches[f"{dataset}_soft_triple"]
        assert len(search.parameters) == (4 if dataset == "sop" else 5)
        taus = {
            spec.loss.hyperparameters["tau"]
            for spec in searches.trial_specs(loaded, f"{dataset}_soft_triple")
        }
        assert (taus == {0}) == (dataset == "sop")


def test_the_folds_of_a_rerun_are_scored_together(loaded):
    found = combinations.combinations(loaded, STUDY)
    assert {row.fold for row in found} == {"concatenated", "separated"}
    assert {len(together.folds) for together in found.values()} == {4}
    # Tuned, published, and on one data set as in the authors' code.
    assert len(found) == (3 * 12 + 3 * 12 + 12) * 10 * 2


def optima():
    """(data set, method, place) -> the authors' best value, with its published name and number."""
    for file in sorted((CONFIG / "reference" / STUDY).glob("settings_table_optima_*.csv")):
        for row in pd.read_csv(file, dtype=str).itertuples():
            yield (row.dataset, row.method, row.place), row


def test_the_36_published_optima_are_what_the_variant_trains(loaded):
    best = dict(optima())
    assert len({key[:2] for key in best}) == 36
    rows = [row for row in loaded.rows(STUDY) if row.variant == "published"]
    assert len(rows) == 3 * 12 * 4 * 10
    for row in rows:
        if row.seed == row.fold == 0:
            spec = loaded.spec(row).as_dict()
            tuned = loaded.spec(replace(row, variant="tuned")).as_dict()
            for key, found in best.items():
                if key[:2] == (row.dataset, row.method):
                    assert place_value(spec, key[2]) == float(found.optimal_value), key
                    tuned = with_values(tuned, {key[2]: float(found.optimal_value)})
            assert spec == tuned | {"search": None}


def test_an_optimum_is_the_published_number_in_our_terms():
    """Their scale is the inverse of ProxyNCA's temperature, as SoftTriple's gammas are."""
    for (_, method, place), found in optima():
        published = float(found.published_value)
        if (method, place) in (("proxy_nca", "loss.temperature"), ("soft_triple", "loss.gamma")):
            expected = 1 / published
        else:
            expected = published * (2 if (method, place) == ("soft_triple", "loss.tau") else 1)
        assert float(found.optimal_value) == pytest.approx(expected, rel=1e-5)


def test_searches_reach_the_published_optima(loaded):
    places = {}
    for (dataset, method, place), found in optima():
        parameter = loaded.searches[f"{dataset}_{method}"].parameters[place]
        assert parameter.low <= float(found.optimal_value) <= parameter.high, (dataset, method)
        assert found.hyperparameter == parameter.title
        places.setdefault((dataset, method), set()).add(place)
    for (dataset, method), found in places.items():
        assert found == loaded.searches[f"{dataset}_{method}"].parameters.keys()


def test_the_code_variant_is_the_code_where_it_differs(loaded):
    rows = [row for row in loaded.rows(STUDY) if row.variant == "code,published"]
    assert {row.dataset for row in rows} == {"cub200"}
    assert {row.method for row in rows} == EMBEDDING | CLASSIFICATION
    for row in rows:
        spec = loaded.spec(row)
        assert spec.transforms.train[0].hyperparameters["scale"] == [0.16, 1.0]
        assert spec.frozen_batchnorm == "statistics"
        assert spec.loss_weight_decay == (0 if row.method == "margin" else None)
        if row.method == "margin":
            expected = {"margin": 0.0878, "beta": 0.7838, "boundary": "learned", "number": "terms"}
            assert spec.loss.hyperparameters == expected


def test_untrained_networks_learn_nothing(loaded):
    for row in loaded.rows(STUDY):
        if row.method == "untrained":
            spec = loaded.spec(row)
            assert spec.epochs == 0
            assert (spec.network.weights is None) == (row.variant == "random_init")
            reduced = spec.head_initialization == "standardized_components"
            assert reduced == (row.variant == "pca")


@pytest.mark.slow
def test_trials_can_be_given_on_the_command_line(loaded):
    fewer = load_studies(STUDY, search_trials=7)
    assert {fewer.searches[name].budget for name in NAMES} == {7}
    name = "multi_similarity_coordinate"
    assert fewer.searches[name].budget == loaded.searches[name].budget
    assert loaded.searches["cub200_margin"].budget == 50


def test_handwriting_has_all_losses_with_one_budget(omniglot):
    rows = [row for row in omniglot.rows(OMNIGLOT) if row.method != "untrained"]
    assert {row.method for row in rows} == EMBEDDING | CLASSIFICATION
    used = {omniglot.search_of(row) for row in rows} - {None}
    assert len(used) == 12
    assert {omniglot.searches[name].budget for name in used} == {8}
    assert {tuple(omniglot.searches[name].folds) for name in used} == {(0, 1, 2, 3)}
    assert {row.split for row in rows} == {"official"}
    assert {omniglot.searches[name].run.split for name in used} == {"official4fold"}


def test_default_values_are_among_those_that_are_searched(omniglot):
    for row in omniglot.rows(OMNIGLOT):
        if row.variant == "tuned":
            spec = omniglot.spec(row).as_dict()
            parameters = omniglot.searches[omniglot.search_of(row)].parameters
            for place, parameter in parameters.items():
                value = place_value(spec, place)
                if place == "loss_learning_rate" and value is None:
                    value = spec["optimizer"]["learning_rate"] * spec["loss_factor"]
                assert parameter.low <= value <= parameter.high, (row.method, place)


def test_tables_whose_printed_spread_is_another_than_ours_say_so(loaded):
    for name in ("03", "04", "05"):
        assert "half of a 95% confidence interval" in loaded.studies[STUDY].tables[name].caption
