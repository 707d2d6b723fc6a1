"""Where a network runs."""

import torch

from dmlbench.errors import UserError


def pick_device(name: str) -> torch.device:
    """`cpu`, `cuda`, or `auto`: the GPU where there is one, the first that torch sees.

    Raises:
        UserError: `cuda` where torch sees no GPU.
    """
    has_gpu = torch.cuda.is_available()
    if name == "cuda" and not has_gpu:
        raise UserError("device: 'cuda': torch sees no GPU here; allowed: auto, cpu")
    return torch.device("cuda", 0) if has_gpu and name != "cpu" else torch.device("cpu")


def use_precision(precision: str) -> None:
    """Let a GPU make products and convolutions of float32 as a spec's precision says.

    By default torch makes convolutions in TF32, which keeps ten bits of 23: float32 is float32
    here unless a spec asks for `tf32`. CPUs have no such mode.
    """
    allowed = precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allowed


def device_name(device: torch.device) -> str:
    """What a device is called: the GPU's model, or `cpu`."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
