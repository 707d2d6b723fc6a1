"""A real Slurm for the tests of this folder; they are skipped where it cannot be started."""

import fcntl
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from slurm_project import Call, Project, slurm, start_slurm

LOCK = Path(tempfile.gettempdir()) / "dmlbench-slurm.lock"
"""Held while one of several processes starts Slurm; has the folder of its scripts once it has."""


@pytest.fixture(scope="session")
def cluster(shared):
    """Folder of the scripts that start and stop Slurm."""
    scripts = shared / "slurm"
    if not (scripts / "start-slurm.sh").is_file():
        pytest.skip(f"no {scripts / 'start-slurm.sh'}: nothing starts Slurm here")
    if os.geteuid() != 0:
        pytest.skip("only root can start a Slurm for tests")
    # Two processes that install its packages would refuse each other.
    with LOCK.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        start = start_slurm(scripts)
        if start.returncode == 0 and "was already up" not in start.stdout:
            # What a killed call has left.
            lock.truncate(0)
            lock.write(str(scripts))
    if start.returncode != 0:
        said = [line for line in start.stderr.splitlines() if "ERROR" in line]
        pytest.skip(f"Slurm does not start here: {' '.join(said) or start.stderr}")
    return scripts


def pytest_sessionfinish(session):
    """What was not running is stopped again, after the tests of all processes."""
    if hasattr(session.config, "workerinput") or not LOCK.exists():
        return
    if scripts := LOCK.read_text():
        subprocess.run([Path(scripts) / "stop-slurm.sh"], check=True, capture_output=True)
    LOCK.unlink()


@pytest.fixture(autouse=True)
def _nothing_outlives_its_test():
    """A job left by a failed test would hold the GPU of the next test."""
    yield
    while Call.started:
        Call.started.pop().end()


@pytest.fixture(scope="session")
def prepared(tmp_path_factory, cluster):
    """A function that makes a project with prepared data, ready for training."""
    first = Project(tmp_path_factory.mktemp("prepared"))
    first.prepare_data()

    def make(folder: Path, training: dict, needs: dict | None = None) -> Project:
        project = Project(folder, training, needs)
        project.take_data(first)
        return project

    return make


@pytest.fixture
def down(cluster):
    """The partition with a GPU lets jobs wait."""
    slurm("scontrol", "update", "PartitionName=gpu", "State=DOWN")
    yield
    slurm("scontrol", "update", "PartitionName=gpu", "State=UP")
