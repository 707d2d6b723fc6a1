"""Deterministic algorithms, as in trainings on a GPU, and the modules of `make gpu-check`."""

import sys

import pytest
import torch
from dmlbench.training.seeds import make_deterministic
from project import REPOSITORY

BENCHMARKS = REPOSITORY / "benchmarks"


@pytest.fixture(autouse=True)
def deterministic():
    """Deterministic algorithms while a test runs."""
    make_deterministic()
    yield
    torch.set_deterministic_debug_mode("default")


@pytest.fixture
def report():
    sys.path.insert(0, str(BENCHMARKS))
    import gpu_report

    yield gpu_report
    sys.path.remove(str(BENCHMARKS))
