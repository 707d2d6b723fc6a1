"""An option that a part gets later makes nothing again, and merged parts keep their results."""

import ast
import contextlib
import copy
import itertools
from typing import Annotated

import pytest
from dmlbench import part_files, registry
from dmlbench.errors import UserError
from dmlbench.plan.catalogs import identity, naming
from dmlbench.plan.catalogs.choices import _CHECKED, Loss
from dmlbench.plan.catalogs.recipes import Optimizer
from dmlbench.plan.specs.spec import Spec, complete
from dmlbench.values import Added
from named_results import SMALL, everything, load
from project import PACKAGES, STUDIES

NOT_NAMED = {"search/pruners", "search/strategies"}
"""Packages whose defaults are part of no digest."""


def forget():
    """Forget what was read from the source of parts."""
    for module in (part_files, registry, naming, identity):
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


def part_of_its_package(part, tree):
    """Whether it derives from another part, whose options it has."""
    bases = {base.id for base in part.bases if isinstance(base, ast.Name)}
    return any(
        bases & {each.name for each in node.names} and "._" not in node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
    )


def with_option(tree, name, option):
    """The source of a part with another keyword-only argument."""
    tree = copy.deepcopy(tree)
    (part,) = (
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name.lower() == name.replace("_", "")
    )
    (more,) = ast.parse(f"def __init__(self, *, {option}): pass").body
    own = next((node for node in part.body if isinstance(node, ast.FunctionDef)), None)
    if own is not None and own.name == "__init__":
        own.args.kwonlyargs += more.args.kwonlyargs
        own.args.kw_defaults += more.args.kw_defaults
    elif any(isinstance(node, ast.AnnAssign) for node in part.body):
        part.body += ast.parse(option).body
    elif not part_of_its_package(part, tree):
        part.body.append(more)
    return tree


@pytest.fixture(scope="module")
def before():
    return everything(*STUDIES)


@pytest.fixture(scope="module")
def before_small():
    return everything(*SMALL)


@pytest.mark.slow
def test_an_added_option_of_every_part_changes_no_result_of_any_study(before, adding):
    adding(*PACKAGES, kind="Annotated[float, Added()]")
    for package in PACKAGES:
        for name in registry.available(package):
            assert registry.options(package, name)["later"].is_added
    after = everything(*STUDIES)
    assert len(before["runs"]) > 1000
    for kind, found in before.items():
        assert after[kind] == found, kind


@pytest.mark.slow
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


@pytest.mark.slow
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
    completed = naming.complete(Loss(name="contrastive"))
    assert completed == plain | {"later": same}
    assert identity.identified("losses", completed) == plain
    assert identity.identified("losses", plain | {"later": other}) == plain | {"later": other}


def test_what_is_preferred_is_of_new_recipes_and_the_library_alone(adding):
    adding("losses", kind="Annotated[float, Added(preferred=2.0)]")
    assert registry.preferred("losses", "contrastive") == {"later": 2.0}
    plain = {"name": "contrastive", "margin": 0.5}
    completed = naming.complete(Loss(name="contrastive"))
    assert completed == plain | {"later": 1.0}
    assert identity.identified("losses", completed) == plain


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
            part.body[-1].value = None
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
