"""Fixtures shared by all tests."""

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data and printed numbers; a test that needs it skips without."""
    folder = Path(os.environ.get("DMLBENCH_SHARED", REPOSITORY.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no folder of real data at {folder}; set DMLBENCH_SHARED")
    return folder
