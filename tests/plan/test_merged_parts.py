"""A part that replaces earlier ones is identified as they were, so that their results are found."""

import pytest
from dmlbench import registry
from dmlbench.plan.catalogs import identity, naming
from dmlbench.plan.catalogs.choices import Loss, Sampler
from dmlbench.plan.specs.spec import Spec
from dmlbench.plan.specs.versions import versions
from hypothesis import given
from hypothesis import strategies as st
from named_results import everything, load


@pytest.fixture(scope="module")
def results():
    return everything("psomas2020", "roth2020_omniglot_batches")


MERGED = [
    (
        "losses",
        {"name": "psomas_proxy_1", "alpha": 32, "margin": 0.1, "negatives": "absent"},
        {"name": "psomas_proxy_1_absent", "alpha": 32, "margin": 0.1},
    ),
    (
        "losses",
        {"name": "psomas_proxy_2", "alpha": 32, "margin": 0.1, "negatives": "absent"},
        {"name": "psomas_proxy_2_absent", "alpha": 32, "margin": 0.1},
    ),
    (
        "losses",
        {"name": "margin", "margin": 0.2, "beta": 1.2, "learned": False},
        {"name": "margin_fixed_beta", "margin": 0.2, "beta": 1.2},
    ),
    (
        "samplers",
        {"name": "greedy_coreset", "pool_size": 1024, "group_size": 4},
        {"name": "greedy_coreset_groups", "pool_size": 1024, "group_size": 4},
    ),
    (
        "samplers",
        {"name": "frd", "pool_size": 1024, "group_size": 2, "candidates": 10},
        {"name": "frd_groups", "pool_size": 1024, "group_size": 2, "candidates": 10},
    ),
    (
        "samplers",
        {"name": "distance_distribution", "pool_size": 9, "group_size": 3, "candidates": 10}
        | {"bins": 50},
        {"name": "distance_distribution_groups", "pool_size": 9, "group_size": 3}
        | {"candidates": 10, "bins": 50},
    ),
]


@pytest.mark.parametrize(("package", "now", "earlier"), MERGED)
def test_a_merged_part_is_identified_as_before(package, now, earlier):
    found = identity.identified(package, now)
    assert list(found.items()) == list(earlier.items())
    assert identity.current(package, earlier) == now


@pytest.mark.parametrize(("package", "now", "earlier"), MERGED)
def test_with_the_default_the_other_part_is_identified_as_before(package, now, earlier):
    (added,) = (
        key for key, option in registry.options(package, now["name"]).items() if option.is_added
    )
    default = now | {added: registry.options(package, now["name"])[added].default}
    assert identity.identified(package, default) == {k: now[k] for k in now if k != added}


@pytest.mark.parametrize(("package", "now", "earlier"), MERGED)
def test_an_earlier_part_without_all_of_its_options_is_one_line(package, now, earlier):
    kind = Loss if package == "losses" else Sampler
    said = f"is now {now['name']} with "
    for key in earlier.keys() - {"name"}:
        some = {name: value for name, value in earlier.items() if name != key}
        with pytest.raises(ValueError, match=said) as error:
            kind.model_validate(some)
        assert f"of which {key} is missing" in str(error.value)


def test_a_merged_part_has_the_version_of_its_file():
    spec = load("psomas2020").spec(absent_row("psomas_proxy_2"))
    found = versions(spec)
    assert found["losses/psomas_proxy_2_absent"] == registry.version("losses", "psomas_proxy_2")
    assert "losses/psomas_proxy_2" not in found


def absent_row(method):
    rows = load("psomas2020").rows("psomas2020")
    return next(row for row in rows if (row.method, row.variant) == (method, "absent_negatives"))


RECORDED = {
    ("psomas2020", "psomas_proxy_1", "absent_negatives"): "d41218e709c88328",
    ("psomas2020", "psomas_proxy_2", "absent_negatives"): "310324266764b251",
    ("roth2020_omniglot_batches", "proxy_nca", "sampler=ddm_4"): "0355586c17e9f8ad",
    ("roth2020_omniglot_batches", "proxy_nca", "sampler=frd_4"): "83313280b2647736",
    ("roth2020_omniglot_batches", "proxy_nca", "sampler=gc_4"): "d6213c9447f71c22",
}
"""Digests of specs from when their parts were files of their own."""


@pytest.mark.parametrize(("study", "method", "variant"), RECORDED)
def test_finished_runs_of_merged_parts_are_found(results, study, method, variant):
    found = {
        digest
        for row, digest in results["specs"].items()
        if (row.study, row.method, row.variant) == (study, method, variant)
    }
    assert RECORDED[study, method, variant] in found


def test_an_earlier_spec_yaml_with_a_merged_loss_is_read():
    """As it was written, `known` has the earlier part."""
    spec = load("psomas2020").spec(absent_row("psomas_proxy_1"))
    assert spec.known["loss"] == {"name": "psomas_proxy_1_absent", "alpha": 32, "margin": 0.1}
    again = Spec.model_validate(spec.known)
    assert again.digest == spec.digest
    assert again.loss == spec.loss
    assert again.loss.hyperparameters["negatives"] == "absent"


def test_the_folder_of_a_merged_loss_has_the_earlier_name(results):
    found = [folder for row, folder in results["runs"].items() if row.variant == "absent_negatives"]
    assert {folder.split("/")[3] for folder in found} == {
        "psomas_proxy_1_absent",
        "psomas_proxy_2_absent",
    }


@given(
    st.sampled_from([(package, now) for package, now, _ in MERGED]),
    st.integers(1, 9),
    st.booleans(),
)
def test_what_is_identified_is_read_again_as_the_same(merged, number, fixed):
    package, now = merged
    changed = {
        key: fixed if isinstance(value, bool) else number if isinstance(value, int) else value
        for key, value in now.items()
    }
    found = identity.current(package, identity.identified(package, changed))
    assert complete_with(package, found) == complete_with(package, changed)


def complete_with(package, choice):
    return {"name": choice["name"]} | naming.defaults(package, choice["name"]) | choice
