"""A CPU's memory is kept between tensors."""

import os
import subprocess
import sys
from pathlib import Path

import dmlbench
import pytest

SCRIPTS = str(Path(dmlbench.__file__).parents[1])
FAULTS = """
import resource, torch
from dmlbench.training.cpu import use_cpu

def work():
    for _ in range(5):
        tensors = [torch.ones(10 * 2**20) for _ in range(3)]  # glibc always maps above 32 MB

{setting}
work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
work()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(setting):
    done = subprocess.run(
        [sys.executable, "-c", FAULTS.format(setting=setting)],
        env=os.environ | {"PYTHONPATH": SCRIPTS},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="page faults are counted as Linux does")
def test_tensors_get_the_memory_of_those_before():
    assert page_faults("use_cpu(1)") < page_faults("torch.set_num_threads(1)") / 2
