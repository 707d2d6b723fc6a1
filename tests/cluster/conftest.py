"""A real Slurm for the tests of this folder; they are skipped where it cannot be started."""

import os
import subprocess
from pathlib import Path

import pytest
from slurm_project import Call, Project, slurm, start_slurm


@pytest.fixture(scope="session")
def cluster(shared, pytestconfig):
    """Folder of the scripts that start and stop Slurm; what was not running is stopped again."""
    scripts = shared / "slurm"
    if not (scripts / "start-slurm.sh").is_file():
        pytest.skip(f"no {scripts / 'start-slurm.sh'}: nothing starts Slurm here")
    if os.geteuid() != 0:
        pytest.skip("only root can start a Slurm for tests")
    # They close partitions and kill daemons, which tests beside them would take for defects.
    if hasattr(pytestconfig, "workerinput"):
        pytest.fail("these tests share one Slurm: run them in one process, by make test-cluster")
    start = start_slurm(scripts)
    was_up = "was already up" in start.stdout
    if start.returncode != 0:
        said = [line for line in start.stderr.splitlines() if "ERROR" in line]
        pytest.skip(f"Slurm does not start here: {' '.join(said) or start.stderr}")
    yield scripts
    if not was_up:
        subprocess.run([scripts / "stop-slurm.sh"], check=True, capture_output=True)


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
