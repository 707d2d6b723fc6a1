"""Every random source of a training is seeded by its spec."""

import hashlib
import os
import random

import numpy as np
import torch


def make_deterministic(compiled: bool = False) -> None:
    """Same spec, seed and device, same numbers: a nondeterministic operation raises an error.

    Args:
        compiled: whether torch.compile makes the network's step. On a GPU its compiler otherwise
            times kernels and takes the fastest, which may be another one after a restart.
    """
    # cuBLAS reads this when its first handle is made.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    if compiled:
        torch.use_deterministic_algorithms(True)
    else:
        # The same without loading the compiler (a second or more).
        torch.set_deterministic_debug_mode("error")
    # It would fill every new tensor with NaN, a twentieth of a small network's step; no tensor is
    # read before it is written.
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.backends.cudnn.benchmark = False


def derived_seed(seed: int, *purpose: object) -> int:
    """A seed for one purpose, independent of seeds for other purposes."""
    text = "/".join(map(str, (seed, *purpose)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def seed_everything(seed: int, *purpose: object) -> None:
    """Seed Python, NumPy and torch (all devices) for one purpose."""
    number = derived_seed(seed, *purpose)
    random.seed(number)
    np.random.seed(number)  # noqa: NPY002 (libraries may draw from the global generator)
    torch.manual_seed(number)


def random_state() -> dict:
    """The state of all generators that `seed_everything` seeds, in a form for checkpoints."""
    kind, keys, *rest = np.random.get_state()  # noqa: NPY002 (see above)
    return {
        "python": random.getstate(),
        "numpy": (kind, keys.tolist(), *rest),
        "cpu": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None,
    }


def set_random_state(state: dict) -> None:
    """Continue drawing from a `random_state`."""
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])  # noqa: NPY002 (see above)
    torch.set_rng_state(state["cpu"])
    if state["cuda"] is not None and torch.cuda.is_initialized():
        torch.cuda.set_rng_state(state["cuda"])
