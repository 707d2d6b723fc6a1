"""Two processes with shares of a batch learn what one process learns from the whole batch."""

import os
import subprocess
import sys
from pathlib import Path

import distributed_steps
import pytest
import torch
from dmlbench.distributed import average_gradients, from_first, gather, rank, size
from project import REPOSITORY

pytestmark = pytest.mark.slow

TOLERANCES = {torch.float32: 2e-5, torch.float64: 1e-12}
"""Largest difference of losses, gradients and weights, relative to the largest value of each."""


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    """What each of two processes found."""
    folder = tmp_path_factory.mktemp("processes")
    paths = [str(REPOSITORY / "workflow" / "scripts"), str(REPOSITORY / "tests")]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*torchrun, "--nproc-per-node", "2", distributed_steps.__file__, str(folder)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [torch.load(Path(folder, f"{number}.pt")) for number in (0, 1)]


@pytest.mark.parametrize("kind", TOLERANCES, ids=str)
@pytest.mark.parametrize("case", [*distributed_steps.CASES, "batchnorm"])
def test_two_processes_learn_as_one_with_the_whole_batch(processes, case, kind):
    if case == "batchnorm":
        whole = distributed_steps.steps("contrastive", kind, batchnorm=True)
    else:
        whole = distributed_steps.steps(case, kind)
    for found in processes:
        assert found[kind][case].keys() == whole.keys()
        for key, wanted in whole.items():
            assert wanted.abs().max() > 0, key
            off = (found[kind][case][key] - wanted).abs().max() / wanted.abs().max()
            assert off <= TOLERANCES[kind], (key, float(off))


def test_processes_stay_equal_bit_for_bit(processes):
    """Also the loss's own parameters, which no wrapper keeps equal."""
    first, second = (found[torch.float32] for found in processes)
    for case, values in first.items():
        for key, value in values.items():
            assert torch.equal(value, second[case][key]), (case, key)


def test_one_process_needs_no_group():
    x = torch.randn(3, 2, requires_grad=True)
    weight = torch.nn.Parameter(torch.ones(1))
    weight.grad = torch.ones(1)
    average_gradients([weight])
    assert gather(x) is x
    assert (size(), rank(), from_first("a"), float(weight.grad)) == (1, 0, "a", 1)
