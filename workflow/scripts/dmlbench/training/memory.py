"""What to change if a GPU's memory is too small."""

import contextlib
from collections.abc import Iterator

import torch

from dmlbench.errors import UserError
from dmlbench.plan.specs.spec import Spec

# What else CUDA says where memory runs out: of a context or of pinned memory, and of libraries.
_SIGNS = ("CUDA error: out of memory", "ALLOC_FAILED", "ALLOCATION_FAILED")


@contextlib.contextmanager
def out_of_memory_is_a_user_error(spec: Spec) -> Iterator[None]:
    """Turn a GPU's out-of-memory error within the block into one line that names what to change.

    Raises:
        UserError: the block needs more memory than the GPU has.
    """
    try:
        yield
    except RuntimeError as error:
        if not _is_out_of_memory(error):
            raise
        changes = ["runs_per_gpu (fewer jobs on the GPU)", "batch_size (smaller)"]
        if spec.precision != "bfloat16":
            changes.insert(1, "precision (bfloat16)")
        raise UserError(
            f"out of memory on {_gpu()}: {spec.network.backbone.name} at "
            f"{spec.pixels} pixels, batch_size {spec.batch_size}, {spec.precision}; "
            f"to change: {', '.join(changes)}, or the GPU (larger)"
        ) from None


def _is_out_of_memory(error: RuntimeError) -> bool:
    return isinstance(error, torch.OutOfMemoryError) or any(sign in str(error) for sign in _SIGNS)


def _gpu() -> str:
    if not torch.cuda.is_available():
        return "the device"
    try:
        _, total = torch.cuda.mem_get_info()
    except RuntimeError:
        # It needs a context, for which there may be no room.
        return torch.cuda.get_device_name()
    return f"{torch.cuda.get_device_name()} with {total / 1e9:.0f} GB"
