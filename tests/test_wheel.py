"""The wheel: examples of the docs run from it, with nothing installed that it does not ask for."""

import re
import shlex
import subprocess
import sys
from importlib import metadata

import dmlbench
import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from PIL import Image
from project import REPOSITORY
from toy_training import train

pytestmark = pytest.mark.slow

PAGES = ("README.md", "docs/gallery.md", "docs/forces.md")
EXAMPLES = [
    pytest.param(code, id=f"{page}-{number}")
    for page in PAGES
    for number, code in enumerate(
        re.findall(r"^```python\n(.*?)^```$", (REPOSITORY / page).read_text(), re.M | re.S)
    )
    if "dmlbench" in code
]
PICTURE = np.arange(400, dtype=np.uint8).reshape(20, 20)
EVERYTHING = """
import importlib, importlib.util, pkgutil
import dmlbench, torch
from dmlbench import losses, miners, regularizers, samplers
from dmlbench.evaluation import metric_names, score

assert "site-packages" in dmlbench.__file__, dmlbench.__file__
found = [name for name in ("snakemake", "optuna") if importlib.util.find_spec(name)]
assert not found, found
parts = ("losses", "miners", "regularizers", "samplers")
for package in (*parts, "command", "evaluation", "inference", "networks", "referee"):
    folder = importlib.import_module(f"dmlbench.{package}")
    for module in pkgutil.walk_packages(folder.__path__, f"{folder.__name__}."):
        # The one network whose weights need another package, of the extra `workflow`.
        if not module.name.endswith(("bn_inception", "__main__")):
            importlib.import_module(module.name)
points, labels = torch.randn(60, 8), torch.arange(60) % 6
for name in losses.available():
    losses.build_loss(name, num_classes=6, embedding_dim=8)
metrics = [name.replace("<k>", "2") for name in metric_names()]
assert set(score(points, labels, metrics=metrics)) == set(metrics)
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A copy of what the wheels are made from."""
    folder = tmp_path_factory.mktemp("source")
    tracked = call("git", "ls-files", "-z", cwd=REPOSITORY).rstrip("\0").split("\0")
    wanted = ("pyproject", "LICENSE", "workflow/scripts", "packages")
    for name in tracked:
        if name == "README.md" or name.startswith(wanted):
            copy = folder / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes((REPOSITORY / name).read_bytes())
    return folder


@pytest.fixture(scope="module")
def python(source, tmp_path_factory):
    """The interpreter of an environment with the wheel, what it requires, and nothing else."""
    return installed(source, "dmlbench", tmp_path_factory.mktemp("wheel"))


def installed(source, name, folder):
    """The interpreter of an environment in a folder, with the wheel of a source.

    What it requires is linked from the environment of the tests, so that nothing is downloaded.
    """
    environment = folder / "environment"
    offline = ("--no-build-isolation", "--offline", "--python", sys.executable)
    call("uv", "build", "--wheel", *offline, "--out-dir", folder, cwd=source)
    call("uv", "venv", "--offline", "--python", sys.executable, environment, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    python = environment / "bin" / "python"
    call("uv", "pip", "install", "--offline", "--no-deps", "--python", python, wheel, cwd=folder)

    (packages,) = environment.glob("lib/python*/site-packages")
    (own,) = metadata.distributions(path=[str(packages)], name=name)
    for distribution in with_requirements(own.requires):
        for file in distribution.files:
            top = file.parts[0]
            if top not in ("..", "__pycache__") and not (packages / top).exists():
                (packages / top).symlink_to(distribution.locate_file(top))
    return python


def with_requirements(requirements):
    """The installed distributions that these need, directly or not; extras are left out."""
    found, left = {}, list(requirements)
    while left:
        requirement = Requirement(left.pop())
        name = canonicalize_name(requirement.name)
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if wanted and name not in found:
            found[name] = metadata.distribution(name)
            left += found[name].requires or []
    return found.values()


def call(*command, cwd):
    if command[0] == "uv":
        command = (sys.executable, "-m", *command)
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_of_the_docs_runs_in_an_empty_folder(python, code, tmp_path):
    call(python, "-c", code, cwd=tmp_path)


def test_every_loss_and_metric_works_without_the_packages_of_the_workflow(python, tmp_path):
    call(python, "-c", EVERYTHING, cwd=tmp_path)


def test_a_run_is_loaded_from_anywhere(python, toy_data, tmp_path):
    train(tmp_path / "run", toy_data, {"epochs": 1})
    expected = dmlbench.load(tmp_path / "run", device="cpu").embed([PICTURE])
    code = (
        "import sys, dmlbench, numpy as np\n"
        "assert 'site-packages' in dmlbench.__file__\n"
        f"picture = np.array({PICTURE.tolist()}, np.uint8)\n"
        f"model = dmlbench.load({str(tmp_path / 'run')!r}, device='cpu')\n"
        "print(*model.embed([picture])[0].tolist())\n"
        "model.export('safetensors'), model.export('torch')\n"
    )
    (tmp_path / "elsewhere").mkdir()
    found = call(python, "-c", code, cwd=tmp_path / "elsewhere").split()
    np.testing.assert_allclose(np.array(found, float), expected[0], atol=1e-5)


def test_numbers_from_elsewhere_are_judged_by_the_command(python, tmp_path):
    """A matrix, two of them, and a table of scores, in a folder without the project."""
    rows = np.random.default_rng(0).normal(size=(2, 40, 4)) + np.eye(4)[np.arange(40) % 4] * 3
    np.save(tmp_path / "a.npy", rows[0])
    np.save(tmp_path / "b.npy", rows[1])
    (tmp_path / "labels.csv").write_text("label\n" + "\n".join("pqrs"[n % 4] for n in range(40)))
    scores = [f"{method},{seed},R@1,{60 + seed}" for method in "mn" for seed in range(3)]
    (tmp_path / "r.csv").write_text("\n".join(["method,seed,metric,value", *scores]))
    program = python.with_name("dmlbench")
    assert "| R@1 (%)" in call(program, "score", "a.npy", "labels.csv", cwd=tmp_path)
    assert "could have been" in call(
        program, "compare", "a.npy", "b.npy", "labels.csv", cwd=tmp_path
    )
    assert "| n less m" in call(program, "referee", "r.csv", cwd=tmp_path)


def test_the_referee_comes_without_torch(source, tmp_path):
    """A distribution of its own, none of whose files is one of the other's."""
    python = installed(source / "packages" / "referee", "dmlbench-referee", tmp_path)
    (packages,) = tmp_path.glob("environment/lib/python*/site-packages")
    found = {each.name for each in packages.iterdir()}
    assert not found & {"torch", "faiss", "dmlbench"}
    scores = [f"{method},{seed},R@1,{60 + seed}" for method in "mn" for seed in range(3)]
    (tmp_path / "r.csv").write_text("\n".join(["method,seed,metric,value", *scores]))
    program = python.with_name("dmlbench-referee")
    assert "| n less m" in call(program, "r.csv", "--output", "r.tex", cwd=tmp_path)
    assert "tabular" in (tmp_path / "r.tex").read_text()
    refused = subprocess.run([program, "no.csv"], cwd=tmp_path, capture_output=True, text=True)
    assert (refused.returncode, refused.stderr) == (1, "dmlbench: no.csv: no such file\n")


def test_the_page_about_use_holds_without_the_project(python, toy_data, tmp_path):
    """Its commands and its Python example, in a folder with a run and a few pictures alone."""
    train(tmp_path / "results" / "runs" / "digits", toy_data, {"epochs": 1, "embedding_dim": 64})
    for name in ("7", "9"):
        (tmp_path / "digits" / name).mkdir(parents=True)
        Image.fromarray(PICTURE + int(name)).save(tmp_path / "digits" / name / f"{name}.png")
    empty = tmp_path / "empty"
    empty.mkdir()
    page = (REPOSITORY / "docs" / "use.md").read_text()
    commands = re.findall(r"^dmlbench ((?:embed|search|export) .*)$", page, re.M)
    assert len(commands) == 5
    for command in commands:
        program = python.with_name("dmlbench")
        call(program, *shlex.split(command), "--results=../results", cwd=empty)
    assert (tmp_path / "found.html").read_text().count("<img") == 2

    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    shown = re.findall(r"^```text\n(.*?)^```$", page, re.M | re.S)[-1].splitlines()
    assert set(shown) <= set(call(python, "-c", code, cwd=empty).splitlines())


def test_the_wheel_has_every_file_of_the_library(python):
    tracked = call("git", "ls-files", "dmlbench", cwd=REPOSITORY / "workflow" / "scripts")
    (packages,) = python.parent.parent.glob("lib/python*/site-packages")
    missing = [name for name in tracked.split() if not (packages / name).exists()]
    assert not missing
