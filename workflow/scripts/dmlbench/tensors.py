"""Embeddings and labels, as all losses, miners and samplers take them."""

import contextlib

import numpy as np
import torch
from torch import Tensor

from dmlbench.errors import UserError

HALF = (torch.float16, torch.bfloat16)
_FLOATING = (*HALF, torch.float32, torch.float64)
# Asked here, because torch 2.5 cannot ask in what it compiles.
_AUTOCAST = [
    device for device in ("cpu", "cuda", "mps", "xpu") if torch.amp.is_autocast_available(device)
]


def autocasts(x: Tensor) -> bool:
    """Whether autocast is on, on the device of x."""
    device = x.device.type
    return device in _AUTOCAST and torch.is_autocast_enabled(device)


def outside_autocast(x: Tensor) -> contextlib.AbstractContextManager:
    """A context in which computations on x's device keep the precision of their arguments."""
    if autocasts(x):
        return torch.autocast(x.device.type, enabled=False)
    return contextlib.nullcontext()


def check_embeddings(embeddings: Tensor) -> None:
    """Raise a UserError unless these are embeddings of a batch: floating [B, D], B and D > 0."""
    if not isinstance(embeddings, Tensor):
        raise UserError(f"embeddings: {type(embeddings).__name__}; allowed: a tensor [B, D]")
    _check_dense("embeddings", embeddings)
    if embeddings.dim() != 2 or 0 in embeddings.shape:
        raise UserError(
            f"embeddings: shape {tuple(embeddings.shape)}; allowed: [B, D] with B, D > 0"
        )
    if embeddings.dtype not in _FLOATING:
        raise UserError(
            f"embeddings: {embeddings.dtype}; allowed: floating-point numbers of 16 to 64 bits"
        )


def checked_labels(labels, embeddings: Tensor) -> Tensor:
    """Labels of a batch: int64 [B], on the device of its embeddings.

    Args:
        labels: integers: a tensor on that device, or a list or NumPy array, which are moved there.
        embeddings: [B, D].

    Raises:
        UserError: not one integer per embedding, or a tensor on another device.
    """
    if not isinstance(labels, Tensor):
        labels = torch.from_numpy(integers("labels", labels)).to(embeddings.device)
    _check_dense("labels", labels)
    if labels.shape != embeddings.shape[:1]:
        raise UserError(
            f"labels: shape {tuple(labels.shape)}; allowed: ({len(embeddings)},), one per embedding"
        )
    if labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool:
        raise UserError(f"labels: {labels.dtype}; allowed: integers")
    if labels.device != embeddings.device:
        raise UserError(
            f"labels: on {labels.device}; allowed: {embeddings.device}, as the embeddings are"
        )
    return labels.long()


def integers(name: str, values) -> np.ndarray:
    """Integers of any type as int64, otherwise as `array`."""
    numbers = array(name, values)
    if numbers.size and not np.issubdtype(numbers.dtype, np.integer):
        raise UserError(f"{name}: {numbers.dtype}; allowed: integers")
    return numbers.astype(np.int64)


def array(name: str, values) -> np.ndarray:
    """A list, a NumPy array or a tensor on any device, as a NumPy array of the same shape.

    Raises:
        UserError: no array can be made of it.
    """
    if isinstance(values, Tensor):
        # NumPy has no bfloat16
        values = (values.float() if values.dtype in HALF else values).detach().cpu()
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        (reason, *_) = str(error).splitlines()
        raise UserError(f"{name}: {reason}; allowed: a list, an array or a dense tensor") from None


def _check_dense(name: str, x: Tensor) -> None:
    if x.layout != torch.strided:
        raise UserError(f"{name}: sparse ({x.layout}); allowed: dense, as x.to_dense() is")
