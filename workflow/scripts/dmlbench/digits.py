"""The same digits on different x86 CPUs: every library uses the instructions of AVX2."""

import os

AVX2 = {
    "ATEN_CPU_CAPABILITY": "avx2",  # torch's own kernels
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "MKL_CBWR": "COMPATIBLE",  # the same path on every maker's CPU
}
"""Environment variables, read by the libraries when they first compute."""


def use_avx2() -> None:
    """Make torch, oneDNN and MKL compute as on a CPU with AVX2, whoever made the CPU.

    The digits of what is trained change, and become the same on CPUs with other instructions;
    docs/same_digits.md says how far. Call it before anything is computed. Importing torch is safe.
    """
    os.environ.update(AVX2)


def limits() -> str:
    """The variables of AVX2 that are set, for provenance; empty if none is."""
    return " ".join(f"{name}={os.environ[name]}" for name in AVX2 if name in os.environ)
