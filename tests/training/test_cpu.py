"""A CPU's memory is kept between tensors."""

import os
import subprocess
import sys
from pathlib import Path

import dmlbench
import pytest

SCRIPTS = str(Path(dmlbench.__file__).parents[1])
KEPT = """
import resource, torch
from dmlbench.training.cpu import use_cpu

def resident_bytes():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

{setting}
before = resident_bytes()
tensors = [torch.ones(10 * 2**20) for _ in range(3)]  # glibc always maps above 32 MB
del tensors
print(resident_bytes() - before)
"""
TENSOR_BYTES = 3 * 10 * 2**20 * 4


def kept_bytes(setting):
    done = subprocess.run(
        [sys.executable, "-c", KEPT.format(setting=setting)],
        env=os.environ | {"PYTHONPATH": SCRIPTS},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads resident memory as Linux reports it")
def test_the_memory_of_tensors_stays_for_those_to_come():
    assert kept_bytes("use_cpu(1)") > 0.9 * TENSOR_BYTES
    assert kept_bytes("torch.set_num_threads(1)") < 0.3 * TENSOR_BYTES
