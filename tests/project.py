"""A copy of the project, and the output of Snakemake in it."""

import contextlib
import functools
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

import yaml
from dmlbench import plan
from dmlbench.plan.catalogs.read import read_mapping

REPOSITORY = Path(__file__).resolve().parents[1]
CONFIG = REPOSITORY / "config"
PACKAGES = (
    "data/generators",
    "data/layouts",
    "data/splits",
    "data/transforms",
    "experiments",
    "losses",
    "miners",
    "networks/backbones",
    "regularizers",
    "samplers",
    "search/pruners",
    "search/strategies",
)
"""The packages of parts that results are made of."""


def load_studies(*studies: str, **changes: object) -> plan.Plan:
    """The plan of the project's configuration with these studies, and other changes."""
    values = read_mapping(CONFIG / "config.yaml")
    return plan.load(values | {"studies": list(studies)} | changes, CONFIG)


def rehearse(*studies: str) -> plan.Plan:
    """The plan of these studies at toy size."""
    return load_studies(*studies, **read_mapping(CONFIG / "rehearsal.yaml"))


STUDIES = sorted(file.stem for file in (CONFIG / "studies").glob("*.yaml"))


@functools.cache
def every_study() -> plan.Plan:
    """The plan of all studies, loaded once: tests read it and change nothing."""
    return load_studies(*STUDIES)


@functools.cache
def every_rehearsal() -> plan.Plan:
    """The plan of all studies at toy size, likewise."""
    return rehearse(*STUDIES)


def script_of_docs(name: str) -> ModuleType:
    """A script of docs/, which is not on Python's path."""
    found = importlib.util.spec_from_file_location(name, REPOSITORY / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def copy_project(folder: Path) -> None:
    """Copy the files that a Snakemake call reads into a folder."""
    for name in ("Snakefile", "rules", "workflow", "config", "profiles", "envs"):
        source = REPOSITORY / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)


def environment() -> dict[str, str]:
    """The environment of a call: programs installed with this Python come first."""
    scripts = Path(sys.executable).parent
    return os.environ | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}


def local_environment() -> dict[str, str]:
    """The same without a cluster: a Slurm that does not answer delays a call by ten seconds."""
    return environment() | {"SLURM_CONF": os.devnull}


def dmlbench(
    folder: Path, *arguments: str | os.PathLike, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Call the command of this repository in a folder."""
    library = str(REPOSITORY / "workflow" / "scripts")
    code = f"import sys; sys.path.insert(0, {library!r}); from dmlbench.command import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env=env or local_environment(),
        capture_output=True,
        text=True,
        errors="surrogateescape",
    )


def with_command(folder: Path, project: Path = REPOSITORY) -> dict[str, str]:
    """`local_environment`, in which the command of a project is a program, in a folder."""
    folder.mkdir(exist_ok=True)
    library = project / "workflow" / "scripts"
    program = folder / "dmlbench"
    call = f'PYTHONPATH="{library}" exec "{sys.executable}" -m dmlbench "$@"'
    program.write_text(f"#!/bin/sh\n{call}\n")
    program.chmod(0o755)
    own = local_environment()
    return own | {"PATH": f"{folder}{os.pathsep}{own['PATH']}"}


class Project:
    """A copy of the project in a folder, with the results folder of a rehearsal."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.results = folder / "results" / "rehearsal"
        copy_project(folder)

    def snakemake(self, *arguments: str, check: bool = True) -> str:
        """Run Snakemake; returns what it printed."""
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", "--cores", "2", *arguments],
            cwd=self.folder,
            env=local_environment(),
            capture_output=True,
            text=True,
        )
        output = done.stdout + done.stderr
        assert done.returncode == 0 or not check, output
        return output

    def plan(self) -> plan.Plan:
        """The plan of its current configuration."""
        config = self.folder / "config"
        return plan.load(yaml.safe_load((config / "config.yaml").read_text()), config)

    def data(self, dataset: str = "glyphs") -> str:
        """The folder of a data set, from the project's folder."""
        results = self.results.relative_to(self.folder)
        return f"{results}/data/{self.plan().data(dataset).folder}"

    def run(self, study: str, method: str) -> str:
        """The folder of the first run of a study's method, from the project's folder."""
        loaded = self.plan()
        row = next(row for row in loaded.rows(study) if row.method == method)
        return f"{self.results.relative_to(self.folder)}/runs/{loaded.run(row).folder}"

    @contextlib.contextmanager
    def edited(self, name: str, old: str, new: str) -> Iterator[None]:
        """A different text in a file, which is restored at the end."""
        path = self.folder / name
        text = path.read_text()
        assert old in text, f"{name} has no {old!r}"
        path.write_text(text.replace(old, new))
        try:
            yield
        finally:
            path.write_text(text)

    def planned(self, *arguments: str) -> dict[str, int]:
        """How many jobs of each rule a dry run would start."""
        output = self.snakemake("--dry-run", *arguments)
        if "Nothing to be done" in output:
            return {}
        rows = output.split("Job stats:")[1].split("total")[0].splitlines()
        counted = [row.split() for row in rows if len(row.split()) == 2]
        return {rule: int(count) for rule, count in counted if count.isdigit()}
