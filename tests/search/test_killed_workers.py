"""SIGKILL of random workers of a search, 30 times: every trial ends once."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
SCRIPTS = TESTS.parent / "workflow" / "scripts"


@pytest.mark.slow
def test_no_trial_is_lost_doubled_or_left_running(data, tmp_path):
    paths = (SCRIPTS, TESTS / "search")
    script = TESTS / "search" / "killed_workers.py"
    done = subprocess.run(
        [sys.executable, script, data["index"].parent, tmp_path],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths)), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert re.match(r"30 kills, \d+ attempts repeated, ", done.stdout)
