"""The conda environments: every package of the lock, nothing that floats, and pins to builds."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from project import REPOSITORY

ENVS = REPOSITORY / "envs"
FILES = ("cpu.yaml", "gpu.yaml")
LOCK = (REPOSITORY / "requirements.lock").read_text()
MADE = """\
# This file may be used to create an environment using:
# $ conda create --name <env> --file <this file>
# platform: linux-64
@EXPLICIT
https://channel.example/linux-64/python-3.12.12-hd63d673_1_cpython.conda#5c00c8cea14ee8d02941cab9121dce41
https://channel.example/noarch/pip-25.3-pyh8b19718_0.conda#c55515ca43c6444d2572e0f0d93cb6b9
"""
"""What `conda list --explicit --md5` prints, with another channel."""


def parts(name):
    """The conda and the pip part of an environment."""
    *packages, of_pip = yaml.safe_load((ENVS / name).read_text())["dependencies"]
    return packages, of_pip["pip"]


@pytest.mark.parametrize("name", FILES)
def test_conda_files_are_those_of_the_lock(name):
    generated = runpy.run_path(str(ENVS / "from_lock.py"))["environments"]()
    assert (ENVS / name).read_text() == generated[name], "run: make lock"


@pytest.mark.parametrize("name", FILES)
def test_conda_and_pip_install_the_same_versions(name):
    """Parsed independently here: each name and version of the conda file is in the lock."""
    packages, of_pip = parts(name)
    assert [package.partition("=")[0] for package in packages] == ["python", "pip"]
    assert all(package.partition("=")[2] for package in packages)
    found = dict(package.split("==") for package in of_pip)
    assert {"torch", "torchvision", "snakemake", "pyarrow", "optuna", "pydantic"} <= set(found)
    others = {package for package in found if f"\n{package}=={found[package]} " not in f"\n{LOCK}"}
    assert bool(others) == (name == "gpu.yaml")
    # What faiss needs of CUDA 12 is in no lock, for torch needs CUDA 13.
    assert all(package.endswith("-cu12") for package in others)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_nothing_but_its_lines_is_installed(tmp_path, name):
    packages, of_pip = parts(name)
    (tmp_path / "in.txt").write_text("\n".join(of_pip))
    python = packages[0].partition("=")[2]
    options = ("--python-version", python, "--python-platform", "x86_64-manylinux_2_28")
    command = [Path(sys.executable).parent / "uv", "pip", "compile", "in.txt", *options]
    plain = ("--no-annotate", "--no-header", "--quiet")
    done = subprocess.run([*command, *plain], cwd=tmp_path, capture_output=True, text=True)
    if done.returncode and "error sending request" in done.stderr.lower():
        pytest.skip("no index of packages can be reached")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == sorted(of_pip)


@pytest.fixture
def conda(tmp_path):
    """A function that calls envs/pin.py in a copy of envs/, with a conda that prints something."""
    folder = tmp_path / "envs"
    folder.mkdir()
    for name in ("pin.py", "cpu.yaml"):
        (folder / name).write_text((ENVS / name).read_text())

    def call(listed):
        program = tmp_path / "conda"
        said = f"cat <<'END'\n{listed}END\n" if listed else "exit 1\n"
        program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n[ $1 = create ] || {said}')
        program.chmod(0o755)
        search = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
        command = [sys.executable, folder / "pin.py", "cpu"]
        return subprocess.run(command, env=os.environ | search, capture_output=True, text=True)

    call.folder, call.asked = folder, tmp_path / "asked"
    return call


def test_an_environment_is_pinned_to_what_conda_made(conda):
    done = conda(MADE)
    assert done.returncode == 0, done.stderr
    assert (conda.folder / "cpu.linux-64.pin.txt").read_text() == MADE
    created, listed = conda.asked.read_text().splitlines()
    packages, of_pip = parts("cpu.yaml")
    assert created.endswith(f"--override-channels --channel conda-forge {' '.join(packages)}")
    assert listed.startswith("list --explicit --md5 --prefix ")
    # Snakemake installs the pip part of an environment with a pin file by this script only.
    *_, install = (conda.folder / "cpu.post-deploy.sh").read_text().splitlines()
    assert install.split() == ["python", "-m", "pip", "install", "--no-deps", *of_pip]


@pytest.mark.parametrize("listed", [None, "# platform: linux-64\n", MADE.replace("#5c", " ")])
def test_what_conda_does_not_say_is_not_written(conda, listed):
    done = conda(listed)
    assert done.returncode == 1
    assert "dmlbench: conda" in done.stderr
    assert not list(conda.folder.glob("cpu.*.*"))


def test_snakemake_looks_for_pins_where_they_are_written():
    from snakemake.deployment import conda as of_snakemake

    source = Path(of_snakemake.__file__).read_text()
    assert 'f".{self.conda.platform}.pin.txt"' in source
    assert '".post-deploy.sh"' in source
