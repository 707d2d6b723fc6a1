"""What is remembered of Snakemake's functions is what they give."""

import inspect

import pytest
from dmlbench.plan import remembered
from snakemake import common, rules


class Named:
    def method(self, wildcards, attempt):
        """Nothing."""


FUNCTIONS = [lambda wildcards: 1, lambda wildcards, *, threads: 1, Named().method]


@pytest.fixture
def remembering(monkeypatch):
    for module, name in remembered.PURE:
        monkeypatch.setattr(module, name, getattr(module, name))
    remembered.remember_pure_functions()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_signatures(remembering, function):
    for _ in range(2):
        for module in (common, rules):
            assert module.get_function_params(function) == inspect.signature(function).parameters


def test_uris(remembering):
    for _ in range(2):
        assert common.parse_uri("workflow/scripts/train.py").scheme == "file"
        assert common.parse_uri("https://example.org/a.py").scheme == "https"
        with pytest.raises(NotImplementedError):
            common.parse_uri("unknown:a.py")
