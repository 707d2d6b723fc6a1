"""The same digits on different x86 CPUs: every library keeps to the instructions that all have."""

import os

AVX2 = {
    "ATEN_CPU_CAPABILITY": "avx2",  # torch's own kernels
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "MKL_CBWR": "COMPATIBLE",  # the same path on every maker's CPU
}
"""What the libraries read from the environment, before they compute for the first time."""


def use_avx2() -> None:
    """Let torch, oneDNN and MKL compute as on a CPU with AVX2, and MKL alike on every maker's.

    Changes the digits of whatever is trained: by it, CPUs with other instructions agree, as far as
    docs/same_digits.md says. To be called before anything is computed; importing torch is nothing.
    """
    os.environ.update(AVX2)


def limits() -> str:
    """The switches that are set, for the record; empty where none is."""
    return " ".join(f"{name}={os.environ[name]}" for name in AVX2 if name in os.environ)
