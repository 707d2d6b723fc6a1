"""Where a network runs."""

import torch

from dmlbench.errors import UserError


def pick_device(name: str) -> torch.device:
    """`cpu`, `cuda`, or `auto`: the GPU where there is one.

    Raises:
        UserError: `cuda` where torch sees no GPU.
    """
    has_gpu = torch.cuda.is_available()
    if name == "cuda" and not has_gpu:
        raise UserError("device: 'cuda': torch sees no GPU here; allowed: auto, cpu")
    return torch.device("cuda" if has_gpu and name != "cpu" else "cpu")
