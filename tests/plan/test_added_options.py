"""An option that a part gets later makes nothing again, and merged parts keep their results."""

import ast
import contextlib
import copy
import itertools
from dataclasses import replace
from typing import Annotated

import pytest
from dmlbench import part_files, registry
from dmlbench.errors import UserError
from dmlbench.plan import defaults, identity, searches
from dmlbench.plan.choices import _CHECKED, Loss, Sampler
from dmlbench.plan.configuration import Configuration
from dmlbench.plan.plan import Plan
from dmlbench.plan.read import checked, read_mapping
from dmlbench.plan.recipes import Optimizer
from dmlbench.plan.spec import Spec, complete
from dmlbench.plan.versions import versions
from dmlbench.values import Added
from hypothesis import given
from hypothesis import strategies as st
from project import CONFIG, PACKAGES, STUDIES

NOT_NAMED = {"search/pruners", "search/strategies"}
"""Packages whose defaults are part of no digest."""

SMALL = ("can2019_grocery_rho", "demo")
"""Studies that name parts of all packages."""


def load(*studies):
    values = read_mapping(CONFIG / "config.yaml") | {"studies": list(studies)}
    return Plan(checked(values, Configuration, where="config.yaml"), CONFIG)


def everything(*studies):
    """The name of each result of some studies, and what Snakemake compares of each training.

    Of the searches, every 24th suffices for a few studies.
    """
    plan = load(*studies)
    rows = itertools.chain.from_iterable(map(plan.rows, studies))
    runs = {row: plan.run(row) for row in dict.fromkeys(replace(row, seed=0) for row in rows)}
    some = list(plan.searches)[:: 1 if len(studies) > len(SMALL) else 24]
    facts = {name: searches.search_facts(plan, name) for name in some}
    return {
        "runs": {row: run.folder for row, run in runs.items()},
        "specs": {row: run.spec.digest for row, run in runs.items()},
        "parameters": {row: repr(run.spec.known) for row, run in runs.items()},
        "searches": {name: searches.folder(plan, name) for name in facts},
        "trials": {name: searches.trials_digest(found) for name, found in facts.items()},
        "facts": {name: repr(found) for name, found in facts.items()},
        "experiments": {name: each.folder(name) for name, each in plan.experiments.items()},
        "data": {
            name: plan.data(name).folder
            for name, entry in plan.datasets.items()
            if not entry.folder
        },
    }


def forget():
    """Forget what was read from the source of parts."""
    for module in (part_files, registry, defaults, identity):
        for function in vars(module).values():
            if hasattr(function, "cache_clear"):
                function.cache_clear()
    _CHECKED.clear()


@pytest.fixture
def adding(monkeypatch):
    """A function that adds an option `later` to all parts of packages."""
    real = part_files._tree

    def add(*packages, kind, default="1.0"):
        folders = {part_files._LIBRARY / package for package in packages}

        def changed(file):
            if file.parent not in folders:
                return real(file)
            return with_option(real(file), file.stem, f"later: {kind} = {default}")

        monkeypatch.setattr(part_files, "_tree", changed)
        forget()

    yield add
    monkeypatch.undo()
    forget()


def with_option(tree, name, option):
    """The source of a part with another keyword-only argument."""
    tree = copy.deepcopy(tree)
    (part,) = (
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name.lower() == name.replace("_", "")
    )
    (more,) = ast.parse(f"def __init__(self, *, {option}): pass").body
    own = part_files._function(part, "__init__")
    bases = {base.id for base in part.bases if isinstance(base, ast.Name)}
    inherits = any(
        bases & {each.name for each in node.names} and "._" not in node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
    )
    if own is None and not inherits:
        part.body.append(more)
    elif own is not None:
        own.args.kwonlyargs += more.args.kwonlyargs
        own.args.kw_defaults += more.args.kw_defaults
    return tree


@pytest.fixture(scope="module")
def before():
    return everything(*STUDIES)


@pytest.fixture(scope="module")
def before_small():
    return everything(*SMALL)


def test_an_added_option_of_every_part_changes_no_result_of_any_study(before, adding):
    adding(*PACKAGES, kind="Annotated[float, Added()]")
    for package in PACKAGES:
        for name in registry.available(package):
            assert registry.options(package, name)["later"].is_added
    after = everything(*STUDIES)
    assert len(before["runs"]) > 1000
    for kind, found in before.items():
        assert after[kind] == found, kind


@pytest.mark.parametrize("package", PACKAGES)
def test_without_the_marker_a_new_option_is_noticed(before_small, adding, package):
    adding(package, kind="float")
    after = everything(*SMALL)
    assert (after == before_small) == (package in NOT_NAMED)


PLACES = {
    "data/transforms": lambda values: values["transforms"]["train"][0],
    "losses": lambda values: values["loss"],
    "miners": lambda values: values["miner"],
    "networks/backbones": lambda values: values["network"]["backbone"],
    "regularizers": lambda values: values["regularizers"][0],
    "samplers": lambda values: values["sampler"],
    "data/splits": lambda values: values["split"],
}
"""Where a spec names parts of a package."""


def spec_with(package):
    """The first spec of the small studies that names a part of a package."""
    plan = load(*SMALL)
    for row in itertools.chain.from_iterable(map(plan.rows, SMALL)):
        spec = plan.spec(row)
        with contextlib.suppress(IndexError):
            if PLACES[package](spec.as_dict()):
                return spec
    raise AssertionError(f"no spec names a part of {package}")


@pytest.mark.parametrize("package", PLACES)
def test_another_value_of_an_added_option_is_another_result(adding, package):
    earlier = spec_with(package).digest
    adding(package, kind="Annotated[float, Added()]")
    values = complete(spec_with(package).as_dict())
    place = PLACES[package](values)
    assert place["later"] == 1.0
    assert Spec.model_validate(values).digest == earlier
    place["later"] = 2.0
    other = Spec.model_validate(values)
    assert other.digest != earlier
    assert PLACES[package](other.known)["later"] == 2.0


@pytest.mark.parametrize(
    ("kind", "default", "same", "other"),
    [
        ("Sequence[int]", "(1, 2)", [1, 2], [1]),
        ("float | None", "None", None, 0.0),
        ("bool", "False", False, True),
        ("Literal['a', 'b']", "'a'", "a", "b"),
        ("Count", "1", 1, 2),
    ],
)
def test_defaults_of_all_types_are_left_out(adding, kind, default, same, other):
    adding("losses", kind=f"Annotated[{kind}, Added()]", default=default)
    plain = {"name": "contrastive", "margin": 0.5}
    completed = defaults.complete(Loss(name="contrastive"))
    assert completed == plain | {"later": same}
    assert identity.identified("losses", completed) == plain
    assert identity.identified("losses", plain | {"later": other}) == plain | {"later": other}


def test_a_spec_from_before_the_option_is_the_same_run(adding):
    """An earlier spec.yaml lacks the option."""
    earlier = spec_with("losses")
    adding("losses", kind="Annotated[float, Added()]")
    values = earlier.as_dict()
    assert "later" not in values["loss"]
    assert Spec.model_validate(values).digest == spec_with("losses").digest
    assert spec_with("losses").as_dict()["loss"]["later"] == 1.0


def test_an_added_option_needs_a_default(monkeypatch, adding):
    adding("losses", kind="Annotated[float, Added()]")
    read = part_files._tree

    def without_default(file):
        tree = read(file)
        if file.stem == "contrastive":
            part = next(node for node in tree.body if isinstance(node, ast.ClassDef))
            part_files._function(part, "__init__").args.kw_defaults[-1] = None
        return tree

    monkeypatch.setattr(part_files, "_tree", without_default)
    forget()
    with pytest.raises(UserError, match=r"^losses/contrastive: later is Added without a default; "):
        registry.options("losses", "contrastive")


def test_an_added_field_of_a_spec_or_of_a_model_in_it_is_compared_only_if_it_is_set():
    class LaterOptimizer(Optimizer):
        nesterov: Annotated[bool, Added()] = False

    class Later(Spec):
        optimizer: LaterOptimizer
        accumulate: Annotated[int, Added()] = 1

    spec = spec_with("losses")
    values = spec.as_dict()
    later = Later.model_validate(values)
    assert later.as_dict() != values
    assert repr(later.known) == repr(spec.known)
    assert later.digest == spec.digest
    other = Later.model_validate(values | {"accumulate": 2})
    assert other.known == spec.known | {"accumulate": 2}
    other = Later.model_validate(values | {"optimizer": values["optimizer"] | {"nesterov": True}})
    assert other.known["optimizer"]["nesterov"] is True


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


def test_a_merged_part_has_the_version_of_its_file(before):
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
def test_finished_runs_of_merged_parts_are_found(before, study, method, variant):
    found = {
        digest
        for row, digest in before["specs"].items()
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


def test_the_folder_of_a_merged_loss_has_the_earlier_name(before):
    found = [folder for row, folder in before["runs"].items() if row.variant == "absent_negatives"]
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
    return {"name": choice["name"]} | defaults.defaults(package, choice["name"]) | choice
