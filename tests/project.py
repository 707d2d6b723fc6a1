"""A copy of the project, and Snakemake's word on it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]


def copy_project(folder: Path) -> None:
    """Copy into a folder what a call of Snakemake reads."""
    for name in ("Snakefile", "rules", "workflow", "config", "profiles", "envs"):
        source = REPOSITORY / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)


def environment() -> dict[str, str]:
    """The environment of a call: what is installed beside this Python comes first."""
    scripts = Path(sys.executable).parent
    return os.environ | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}


class Project:
    """A copy of the project in a folder, with its results where a rehearsal has them."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.results = folder / "results" / "rehearsal"
        copy_project(folder)

    def snakemake(self, *arguments: str, check: bool = True) -> str:
        """Run Snakemake; returns what it printed."""
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", "--cores", "2", *arguments],
            cwd=self.folder,
            env=environment(),
            capture_output=True,
            text=True,
        )
        output = done.stdout + done.stderr
        assert done.returncode == 0 or not check, output
        return output

    def planned(self, *arguments: str) -> dict[str, int]:
        """How many jobs of each rule a dry run would start."""
        output = self.snakemake("--dry-run", *arguments)
        if "Nothing to be done" in output:
            return {}
        rows = output.split("Job stats:")[1].split("total")[0].splitlines()
        counted = [row.split() for row in rows if len(row.split()) == 2]
        return {rule: int(count) for rule, count in counted if count.isdigit()}
