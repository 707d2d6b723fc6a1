"""Every random source of a training follows from its spec's seed."""

import hashlib
import os
import random

import numpy as np
import torch


def make_deterministic() -> None:
    """Same spec, same seed, same device, same numbers: an operation that cannot is an error."""
    # cuBLAS reads this when its first handle is made.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # The same as use_deterministic_algorithms, without loading the compiler (a second or more).
    torch.set_deterministic_debug_mode("error")
    torch.backends.cudnn.benchmark = False


def derived_seed(seed: int, *purpose: object) -> int:
    """A seed for one purpose, independent of those for others."""
    text = "/".join(map(str, (seed, *purpose)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def seed_everything(seed: int, *purpose: object) -> None:
    """Seed Python, NumPy and torch (all devices) for one purpose."""
    number = derived_seed(seed, *purpose)
    random.seed(number)
    np.random.seed(number)  # noqa: NPY002 (libraries may draw from the global generator)
    torch.manual_seed(number)
