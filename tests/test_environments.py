"""One set of versions: pyproject, the hashed lock and the conda environments."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[1]
LOCK = (REPOSITORY / "requirements.lock").read_text()
SITE = (REPOSITORY / "docs" / "requirements.lock").read_text()
OPTIONAL = (REPOSITORY / "tests" / "optional.lock").read_text()


@pytest.fixture(scope="module")
def generated():
    return runpy.run_path(str(REPOSITORY / "envs" / "from_lock.py"))["environments"]()


def pins(environment):
    (packages,) = (item["pip"] for item in environment["dependencies"] if isinstance(item, dict))
    return dict(package.split("==") for package in packages)


@pytest.mark.parametrize("name", ["cpu.yaml", "gpu.yaml"])
def test_conda_files_are_those_of_the_lock(generated, name):
    assert (REPOSITORY / "envs" / name).read_text() == generated[name], "run: make lock"


def test_conda_and_pip_install_the_same_versions():
    """Parsed independently here: each name and version of the conda file is in the lock."""
    for name in ("cpu", "gpu"):
        found = pins(yaml.safe_load((REPOSITORY / "envs" / f"{name}.yaml").read_text()))
        assert {"torch", "torchvision", "snakemake", "pyarrow", "optuna", "pydantic"} <= set(found)
        for package, version in found.items():
            if not package.startswith("faiss-gpu"):
                assert f"\n{package}=={version} " in f"\n{LOCK}", package


@pytest.mark.parametrize(("lock", "fewest"), [(LOCK, 100), (SITE, 20), (OPTIONAL, 10)])
def test_every_locked_package_has_a_hash_and_no_address(lock, fewest):
    entries = re.split(r"\n(?=\S)", lock.strip())
    assert len(entries) > fewest
    for entry in entries:
        assert "--hash=sha256:" in entry, entry.splitlines()[0]
    assert "://" not in lock
    assert "://" not in (REPOSITORY / "envs" / "gpu.yaml").read_text()


def test_what_pyproject_pins_is_what_is_locked():
    text = (REPOSITORY / "pyproject.toml").read_text()
    pinned = re.findall(r'"([\w-]+==[\w.]+)"', text)
    assert len(pinned) >= 8
    assert all(f"\n{pin} " in f"\n{LOCK}" for pin in pinned)


def test_the_site_has_a_lock_of_its_own():
    """The packages that build the site are not part of the environment for experiments."""
    groups = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["dependency-groups"]
    for package in groups["docs"]:
        assert f"\n{package}==" in f"\n{SITE}"
        assert f"\n{package}==" not in f"\n{LOCK}"


def test_optional_packages_are_on_top_of_the_environment():
    """None is in it twice, and what pyproject offers as an extra of its own is among them."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    wanted = [*extras["timm"], *extras["onnx"], *project["dependency-groups"]["optional"]]
    assert len(wanted) >= 4
    locked, added = (set(re.findall(r"^([\w-]+)==", lock, re.M)) for lock in (LOCK, OPTIONAL))
    assert {re.match(r"[\w-]+", package)[0] for package in wanted} <= added
    assert not locked & added
