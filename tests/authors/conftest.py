import pytest
from project import every_study


@pytest.fixture(scope="session")
def loaded():
    return every_study()
