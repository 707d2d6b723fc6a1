"""CUDA_VISIBLE_DEVICES is read as CUDA reads it; devices are simulated."""

import os

import pytest
from dmlbench.errors import UserError
from dmlbench.training.gpus import gpu_lease
from dmlbench.training.visible_gpus import visible_gpus


@pytest.fixture
def two_gpus(monkeypatch):
    """A machine with the GPUs `a` and `b`."""
    monkeypatch.setenv("DMLBENCH_GPUS", "a,b")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        (None, {"a": "a", "b": "b"}),
        ("b", {"b": "b"}),
        ("1", {"b": "1"}),
        ("1,0", {"b": "1", "a": "0"}),
        ("0,-1,1", {"a": "0"}),
        ("0,9,1", {"a": "0"}),
        ("", {}),
        ("-1", {}),
        ("NoDevFiles", {}),
    ],
)
def test_only_gpus_that_are_visible_already_count(two_gpus, monkeypatch, allowed, expected):
    if allowed is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", allowed)
    assert visible_gpus() == expected


def test_a_machine_without_nvidia_smi_has_no_gpus(two_gpus, monkeypatch, tmp_path):
    monkeypatch.delenv("DMLBENCH_GPUS")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert visible_gpus() == {}


def test_nvidia_smi_lists_the_gpus(two_gpus, monkeypatch, tmp_path):
    monkeypatch.delenv("DMLBENCH_GPUS")
    listing = "GPU 0: NVIDIA H200 (UUID: GPU-1f)\nGPU 1: NVIDIA H200 (UUID: GPU-2e)"
    nvidia_smi(tmp_path, monkeypatch, f"echo '{listing}'")
    assert visible_gpus() == {"GPU-1f": "GPU-1f", "GPU-2e": "GPU-2e"}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-2")
    assert visible_gpus() == {"GPU-2e": "GPU-2"}


def nvidia_smi(folder, monkeypatch, script):
    """Put a program of this name before others."""
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


SLICES = """GPU 0: NVIDIA H200 (UUID: GPU-1f)
  MIG 3g.71gb     Device  0: (UUID: MIG-7a)
  MIG 3g.71gb     Device  1: (UUID: MIG-7b)
GPU 1: NVIDIA H200 (UUID: GPU-2e)"""


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        (None, {each: each for each in ("MIG-7a", "MIG-7b", "GPU-2e")}),
        # Of a GPU that is divided CUDA takes the first slice.
        ("0,1", {"MIG-7a": "0", "GPU-2e": "1"}),
        ("GPU-1f", {"MIG-7a": "GPU-1f"}),
        ("MIG-7b", {"MIG-7b": "MIG-7b"}),
        ("MIG-7", None),
    ],
)
def test_a_slice_and_its_gpu_are_one_device(two_gpus, monkeypatch, tmp_path, allowed, expected):
    monkeypatch.delenv("DMLBENCH_GPUS")
    nvidia_smi(tmp_path, monkeypatch, f"echo '{SLICES}'")
    if allowed is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", allowed)
    if expected is None:
        with pytest.raises(UserError, match="'MIG-7' is no GPU here; allowed: MIG-7a, "):
            visible_gpus()
    else:
        assert visible_gpus() == expected


def test_a_program_that_fails_is_said(two_gpus, monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("DMLBENCH_GPUS")
    nvidia_smi(tmp_path, monkeypatch, "echo 'Driver/library version mismatch'; exit 18")
    assert visible_gpus() == {}
    assert "nvidia-smi fails, so no GPU is listed: Driver/library" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["9", "void", "none", "GPU-zzzz", "GPU-", "gpu-aaaa"])
def test_a_name_that_cuda_does_not_know_is_refused(two_gpus, monkeypatch, name):
    monkeypatch.setenv("DMLBENCH_GPUS", "GPU-aaaa,GPU-bbbb")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", name)
    with pytest.raises(UserError, match="is no GPU here; allowed: GPU-aaaa, GPU-bbbb, or -1"):
        visible_gpus()
    with gpu_lease("cpu") as none:
        assert none is None
