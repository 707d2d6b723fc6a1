"""faiss computes with the kernels of this CPU, also of one that its OpenBLAS does not know."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from dmlbench.machine import instructions, openblas_kernels

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow" / "scripts"


@pytest.mark.parametrize(
    ("vendor", "has", "kernels"),
    [
        ("GenuineIntel", ["avx2", "fma", "avx512f", "avx512_bf16"], "SkylakeX"),
        ("GenuineIntel", ["avx2", "fma"], "Haswell"),
        ("AuthenticAMD", ["avx2", "fma", "avx512f"], "Zen"),
        ("GenuineIntel", [], None),
        ("AuthenticAMD", [], None),
        ("", ["avx2"], None),
    ],
)
def test_kernels_follow_from_the_cpu(vendor, has, kernels):
    assert openblas_kernels(vendor, has) == kernels


def kernels_of_faiss(**environment):
    """The kernels of the OpenBLAS that faiss brings, and the variable that names them, after."""
    code = (
        "import os, threadpoolctl\n"
        "from dmlbench.evaluation.faiss_points import FaissPoints\n"
        "(found,) = (each['architecture'] for each in threadpoolctl.threadpool_info()\n"
        "    if each['internal_api'] == 'openblas' and 'faiss' in each['filepath'])\n"
        "print(found, os.environ.get('OPENBLAS_CORETYPE'))"
    )
    kept = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=kept | {"PYTHONPATH": str(SCRIPTS)} | environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.split()


@pytest.mark.skipif("avx2" not in instructions(), reason="needs an x86 CPU with AVX2, on Linux")
def test_a_cpu_with_avx2_is_not_taken_for_one_without():
    kernels, variable = kernels_of_faiss()
    assert kernels in {"SkylakeX", "Haswell", "Zen"}
    assert variable == "None"


@pytest.mark.skipif("avx2" not in instructions(), reason="needs an x86 CPU with AVX2, on Linux")
def test_kernels_that_the_user_names_are_kept():
    assert kernels_of_faiss(OPENBLAS_CORETYPE="Haswell") == ["Haswell", "Haswell"]
