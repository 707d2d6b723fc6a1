"""The device that a network runs on."""

import torch

from dmlbench.distributed import rank
from dmlbench.errors import UserError


def pick_device(name: str) -> torch.device:
    """`cpu`, `cuda`, or `auto`: the first GPU that torch sees, if any.

    Of several processes, each has a GPU of its own.

    Raises:
        UserError: `cuda`, but torch sees no GPU.
    """
    has_gpu = torch.cuda.is_available()
    if name == "cuda" and not has_gpu:
        raise UserError("device: 'cuda': torch sees no GPU here; allowed: auto, cpu")
    return torch.device("cuda", rank()) if has_gpu and name != "cpu" else torch.device("cpu")


def use_precision(precision: str) -> None:
    """Set the precision of a GPU's float32 products and convolutions to that of a spec.

    By default torch computes convolutions in TF32, which keeps 10 of 23 bits; here float32 means
    float32 unless a spec asks for `tf32`. CPUs have no such mode.
    """
    allowed = precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allowed


def device_name(device: torch.device) -> str:
    """The name of a device: the GPU's model, or `cpu`."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
