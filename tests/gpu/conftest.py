"""On a GPU everything runs with deterministic algorithms, as trainings do."""

import pytest
import torch
from dmlbench.training.seeds import make_deterministic


@pytest.fixture(autouse=True)
def deterministic():
    """Deterministic algorithms while a test runs."""
    make_deterministic()
    yield
    torch.set_deterministic_debug_mode("default")
