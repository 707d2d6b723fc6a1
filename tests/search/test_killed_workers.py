"""SIGKILL of random workers of a search, and of its database, 30 times: every trial ends once."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
SCRIPTS = TESTS.parent / "workflow" / "scripts"


def killed(data, tmp_path, *server):
    """The last line of `killed_workers.py`, run as a process."""
    paths = (SCRIPTS, TESTS / "search")
    script = TESTS / "search" / "killed_workers.py"
    done = subprocess.run(
        [sys.executable, script, data["index"].parent, tmp_path, *server],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths)), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_no_trial_is_lost_doubled_or_left_running(data, tmp_path):
    assert re.match(r"30 kills, \d+ attempts repeated, ", killed(data, tmp_path))


@pytest.mark.slow
def test_nor_is_one_in_a_database_that_is_killed_too(data, tmp_path, postgres):
    assert re.match(r"30 kills, \d+ attempts repeated, ", killed(data, tmp_path, postgres.folder))
