"""One set of versions: pyproject and the hashed locks; test_conda.py has the conda environments."""

import re
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
LOCK = (REPOSITORY / "requirements.lock").read_text()
SITE = (REPOSITORY / "docs" / "requirements.lock").read_text()
OPTIONAL = (REPOSITORY / "tests" / "optional.lock").read_text()


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


def test_arithmetic_has_one_version_for_every_python():
    for package in (
        "numpy",
        "scipy",
        "torch",
        "torchvision",
        "faiss-cpu",
        "scikit-learn",
        "pandas",
    ):
        assert len(re.findall(rf"^{package}==", LOCK, re.M)) == 1, package


def test_the_promised_versions_are_said_once():
    """The Snakefile and the package repeat the lower bounds; the locked versions are within."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    bounds = dict(each.split(">=") for each in project["dependency-groups"]["bounds"])
    low = {name: versions.partition(",")[0] for name, versions in bounds.items()}
    asked = re.search(r'^min_version\("(.+)"\)$', (REPOSITORY / "Snakefile").read_text(), re.M)
    assert asked[1] == low["snakemake"]
    assert f"torch>={low['torch']}" in project["project"]["dependencies"]
    for name, version in low.items():
        locked = re.search(rf"^{name}==([\d.]+) ", LOCK, re.M)[1]
        assert [*map(int, locked.split("."))] >= [*map(int, version.split("."))]


def test_the_referee_asks_for_what_the_library_asks_for():
    """Its wheel has the version and bounds of the library's, and lacks what only that needs."""
    projects = [REPOSITORY / "pyproject.toml", REPOSITORY / "packages/referee/pyproject.toml"]
    library, referee = (tomllib.loads(each.read_text())["project"] for each in projects)
    assert referee["version"] == library["version"]
    assert set(referee["dependencies"]) < set(library["dependencies"])


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
