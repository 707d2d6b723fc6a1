"""A network of a package that is not installed: refused by the plan, if a run needs it."""

import pytest
from dmlbench.plan.catalogs import catalogues

NETWORK = {
    "title": "Any",
    "backbone": {"name": "timm", "model": "test_vit"},
    "pooling": "token",
    "pixels": 183,
    "mode": "rgb",
    "mean": [0.5] * 3,
    "std": [0.5] * 3,
}


@pytest.fixture
def with_network(configured):
    configured.edit("networks", lambda values: values.update(any_vit=NETWORK))
    return configured


def test_a_network_that_no_run_uses_needs_no_package(with_network, monkeypatch):
    monkeypatch.setattr(catalogues, "_is_installed", lambda package: False)
    assert with_network.load().rows("mine")


def test_a_run_of_it_is_refused_in_one_line(with_network, monkeypatch):
    monkeypatch.setattr(catalogues, "_is_installed", lambda package: False)
    with_network.grid(network="any_vit")
    assert (
        "backbone timm needs the package timm, which is not installed; allowed after: "
        ".venv/bin/pip install timm"
    ) in with_network.problem()


def test_with_the_package_its_runs_are_planned(with_network, monkeypatch):
    monkeypatch.setattr(catalogues, "_is_installed", lambda package: True)
    with_network.grid(network="any_vit")
    assert all("/timm/" in folder for folder in with_network.folders().values())
