"""Experiments that take a second."""

import pytest
from toy_experiments import SMALL


@pytest.fixture
def small():
    """Experiment -> options."""
    return SMALL
