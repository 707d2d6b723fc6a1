"""The setting for the same digits reaches the libraries, and is on record."""

import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from dmlbench import digits
from dmlbench.job import job
from dmlbench.training import results
from snakemake.iocontainers import InputFiles

SCRIPTS = Path(__file__).resolve().parent.parent / "workflow" / "scripts"


@pytest.mark.slow
def test_torch_keeps_to_it_although_it_was_imported_before():
    code = (
        "import torch; from dmlbench.digits import use_avx2; use_avx2(); "
        "torch.ones(3) + 1; print(torch.backends.cpu.get_cpu_capability())"
    )
    environment = {key: value for key, value in os.environ.items() if key not in digits.AVX2}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment | {"PYTHONPATH": str(SCRIPTS)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() in (["AVX2"], ["DEFAULT"])  # the latter on a CPU without it


def jobs_environment(tmp_path, monkeypatch, config):
    monkeypatch.setattr(os, "environ", dict(os.environ))
    for name in digits.AVX2:
        os.environ.pop(name, None)
    config = config | {"pathvars": {"results": tmp_path}}
    files = {"log": [str(tmp_path / "log")], "input": InputFiles(), "output": []}
    with job(types.SimpleNamespace(config=config, **files)):
        return {name: os.environ.get(name) for name in digits.AVX2}


def test_a_job_sets_it_where_the_configuration_says_so(tmp_path, monkeypatch):
    assert jobs_environment(tmp_path, monkeypatch, {"same_digits": True}) == digits.AVX2
    unset = dict.fromkeys(digits.AVX2)
    assert jobs_environment(tmp_path, monkeypatch, {"same_digits": False}) == unset
    assert jobs_environment(tmp_path, monkeypatch, {}) == unset


def test_a_history_says_so(tmp_path, monkeypatch):
    one = {"threads": 1, "computed_by": ["these conditions"]}
    for name in digits.AVX2:
        monkeypatch.delenv(name, raising=False)
    results.write_history(tmp_path / "plain.parquet", [{"epoch": 1}], "cpu", **one)
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx2")
    results.write_history(tmp_path / "limited.parquet", [{"epoch": 1}], "cpu", **one)
    found = []
    for name in ("plain", "limited"):
        metadata = pq.read_metadata(tmp_path / f"{name}.parquet").metadata[results.PROVENANCE]
        found.append(json.loads(metadata)["instructions"])
    assert found[1] == f"{found[0]}, limited by ATEN_CPU_CAPABILITY=avx2"
