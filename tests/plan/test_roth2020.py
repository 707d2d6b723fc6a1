"""roth2020's study against the paper."""

import pandas as pd
import pytest
import torch
from dmlbench.plan import Row
from dmlbench.plan.catalogs.where import Where
from dmlbench.plan.views import views
from project import every_study
from torchvision.models import GoogLeNet

STUDY = "roth2020"
LOSSES = {
    "contrastive": {"margin_gamma": "margin"},
    "triplet": {"margin_gamma": "margin"},
    "generalized_lifted": {"margin_gamma": "margin", "nu": "l2"},
    "n_pair": {"nu": "l2"},
    "angular": {"lambda": "weight"},
    "arcface": {"scale_s": "scale"},
    "margin": {"margin_gamma": "margin"},
    "multi_similarity": {"alpha": "alpha", "beta": "beta", "lambda": "margin"},
    "quadruplet": {"gamma_1": "margin", "gamma_2": "margin_2"},
    "snr": {"margin_gamma": "margin", "lambda": "weight"},
    "soft_triple": {"lambda": "alpha", "delta": "margin", "proxies_per_class": "centers_per_class"},
    "normalized_softmax": {"temperature": "temperature"},
}
"""Method -> printed hyperparameter -> the loss's."""
RATES = {
    "arcface": "class_center_lr",
    "margin": "beta_lr",
    "normalized_softmax": "proxy_lr",
    "soft_triple": "proxy_lr",
}


@pytest.fixture(scope="module")
def loaded():
    return every_study()


@pytest.fixture(scope="module")
def printed(shared):
    """Printed hyperparameters: (method, name) -> text."""
    table = pd.read_csv(shared / "reference" / STUDY / "settings_losses.csv", dtype=str)
    return table.set_index(["method", "hyperparameter"]).value


def spec(loaded, method, dataset="cub200", variant="", network="resnet50", dim=128):
    split = "official" if dataset == "sop" else "half"
    return loaded.spec(Row(STUDY, dataset, network, dim, method, STUDY, variant, split, None, 0))


def trained(loaded, **where):
    specs = {row: loaded.spec(row) for row in loaded.rows(STUDY, Where(**where))}
    return {row: found for row, found in specs.items() if found.loss}


def test_every_training_has_the_printed_protocol(loaded):
    for row, found in trained(loaded).items():
        optimizer, changed = found.optimizer, row.variant
        assert (optimizer.name, optimizer.learning_rate) == ("adam", 1e-5), row
        assert optimizer.weight_decay == 4e-4 or "weight_decay=" in changed, row
        assert found.schedule is None
        assert found.epochs == (100 if row.dataset == "sop" else 150), row
        assert found.frozen_batchnorm == ("statistics" if "code" in changed else "both")
        assert found.selection == "best_test_epoch"
        if "sampler=" not in changed:
            assert found.sampler.hyperparameters == {"images_per_class": 2}, row
        if "batch_size=" not in changed:
            assert found.batch_size == 112, row


def test_hyperparameters_are_those_of_appendix_a(loaded, printed):
    for method, names in LOSSES.items():
        found = spec(loaded, method).loss.hyperparameters
        for name, ours in names.items():
            assert found[ours] == float(printed[method, name]), (method, name)
    for method, name in RATES.items():
        assert spec(loaded, method).loss_learning_rate == float(printed[method, name]), method
    assert spec(loaded, "angular").loss.hyperparameters["alpha"] == 45
    degrees = spec(loaded, "arcface").loss.hyperparameters["margin"]
    radians = torch.deg2rad(torch.tensor(degrees)).item()
    assert radians == pytest.approx(float(printed["arcface", "margin_gamma"]))
    # Its gamma is the inverse of ours, and its regularizer counts each pair of centers twice.
    centers = spec(loaded, "soft_triple").loss.hyperparameters
    assert 1 / centers["gamma"] == pytest.approx(float(printed["soft_triple", "gamma"]))
    assert centers["tau"] / 2 == float(printed["soft_triple", "tau"])
    assert spec(loaded, "histogram").loss.hyperparameters["bins"] == 65
    assert spec(loaded, "histogram", "sop").loss.hyperparameters["bins"] == 11
    assert spec(loaded, "multi_similarity").miner.hyperparameters["epsilon"] == 0.1
    tuples = {"lower_cutoff": 0.5, "upper_cutoff": 1.4, "positives": "one"}
    for method in ("contrastive", "margin", "triplet", "quadruplet", "snr"):
        assert spec(loaded, method, variant="miner=D").miner.hyperparameters == tuples | {
            "centered": False
        }, method


def test_tables_4_to_6_are_also_shown_as_they_were_made(loaded):
    """Each metric at its own best test epoch, which every training records."""
    for table, name in (("04", "cub200"), ("05", "cars196"), ("06", "sop")):
        view = loaded.studies[STUDY].tables[f"own_best_{name}"]
        options = view.kind.hyperparameters
        assert options["printed"] == [table]
        assert options["ddof"] == 0, "as the script that made the tables"
        assert views.selection_of(loaded, STUDY, view) == "own_best_test_epoch"
        for row, found in trained(loaded, dataset=name).items():
            assert set(found.own_best_metrics) >= set(options["metrics"]), row
    plain = loaded.studies[STUDY].tables["04"]
    assert views.selection_of(loaded, STUDY, plain) == "best_test_epoch"


def test_an_anchor_without_hard_tuples_gives_any_as_in_the_public_code(loaded):
    assert spec(loaded, "triplet", variant="miner=H").miner.hyperparameters == {
        "fallback": "any",
        "centered": False,
    }


def test_the_code_variant_is_the_code_where_it_differs(loaded):
    """tests/authors holds its losses and miners to what the code computed."""
    rows = [row for row in loaded.rows(STUDY) if "code" in row.variant]
    assert {row.dataset for row in rows} == {"cub200"}
    assert {row.method for row in rows} == {
        row.method for row in loaded.rows(STUDY, Where(dataset="cub200"))
    } - {"untrained", "soft_triple", "quadruplet"}
    for row in rows:
        found = loaded.spec(row)
        assert found.sampler.name == "spc_with_replacement"
        assert found.loss_weight_decay == 0
        if found.miner and found.miner.name.startswith("distance_weighted"):
            assert found.miner.hyperparameters["upper_cutoff"] == 2
            assert found.miner.hyperparameters["positives"] == "one"
    regularized = spec(loaded, "margin", variant="miner=D,code,beta=0.6,regularizer=rho_anchor")
    assert regularized.regularizers[0].hyperparameters == {"p_switch": 0.4}
    assert regularized.loss.hyperparameters["beta"] == 0.6


def test_losses_whose_embeddings_are_printed_unnormalized_get_them_so(loaded):
    methods = {row.method for row, found in trained(loaded).items() if not found.normalize}
    assert methods == {"angular", "generalized_lifted", "n_pair"}


def test_the_head_begins_as_in_the_public_code(loaded):
    """Kaiming's over the outputs would begin with embeddings ten times as long.

    For losses on embeddings that are not normalized that is another loss: N-pair's products would
    be a hundred times as large.
    """
    rows = loaded.rows(STUDY)
    assert {loaded.spec(row).head_initialization for row in rows} == {"torch_default"}


def test_googlenet_gets_what_torchvision_gives_to_its_weights(loaded):
    rows = [row for row in loaded.rows(STUDY) if row.network.startswith("googlenet")]
    assert {row.method for row in rows} > {"untrained", "margin", "triplet"}
    pixels = torch.rand(2, 3, 4, 4)
    mean, std = torch.tensor([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])[..., None, None]
    theirs = GoogLeNet(aux_logits=False, transform_input=True, init_weights=False)
    expected = theirs._transform_input((pixels - mean) / std)
    for network in {loaded.spec(row).network.model_dump_json() for row in rows}:
        ours = type(loaded.spec(rows[0]).network).model_validate_json(network)
        mean, std = (torch.tensor(numbers)[:, None, None] for numbers in (ours.mean, ours.std))
        torch.testing.assert_close((pixels - mean) / std, expected)


@pytest.mark.parametrize(
    ("dataset", "method", "variant", "p_switch"),
    [
        ("cub200", "contrastive", "miner=D,regularizer=rho", 0.4),
        ("cub200", "triplet", "miner=D,regularizer=rho", 0.4),
        ("cub200", "snr", "miner=D,regularizer=rho", 0.3),
        ("cub200", "margin", "miner=D,beta=0.6,regularizer=rho", 0.4),
        ("cub200", "margin", "miner=D,beta=1.2,regularizer=rho", 0.35),
        ("cars196", "margin", "miner=D,beta=0.6,regularizer=rho", 0.35),
        ("sop", "margin", "miner=D,beta=0.6,regularizer=rho", 0.15),
        ("sop", "margin", "miner=D,beta=0.6,regularizer=rho,p_switch=0.5", 0.5),
    ],
)
def test_tuples_are_switched_as_often_as_in_the_public_runs(
    loaded, dataset, method, variant, p_switch
):
    (regularizer,) = spec(loaded, method, dataset, variant).regularizers
    assert (regularizer.name, regularizer.hyperparameters) == ("rho", {"p_switch": p_switch})
