"""Tensors in a safetensors file, with the digest of their values in its metadata."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from dmlbench.errors import DamagedError
from dmlbench.files import atomic_write, damage_is_named


def write_tensors(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Write tensors, and the sha256 of their values and further facts in the metadata.

    Args:
        path: the file to write.
        tensors: on the CPU and contiguous, by name.
        facts: plain values.
    """
    # One key, because safetensors writes several in no fixed order.
    metadata = {"dmlbench": json.dumps({**facts, "sha256": _digest(tensors)}, sort_keys=True)}
    with atomic_write(path) as unfinished:
        unfinished.write_bytes(save(dict(tensors), metadata))


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a file by name.

    Raises:
        DamagedError: it is another file, or its values are not those that were written; files of
            weights of before version 0.2 do not say what was.
    """
    with damage_is_named(path, SafetensorError), safe_open(path, "pt") as file:
        known = json.loads((file.metadata() or {}).get("dmlbench", "{}")).get("sha256")
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if known is not None and known != _digest(tensors):
        raise DamagedError(path, ValueError("its values are not those that were written"))
    return tensors


def _digest(tensors: Mapping[str, Tensor]) -> str:
    hasher = hashlib.sha256()
    for name, values in sorted(tensors.items()):
        hasher.update(f"{name} {values.dtype} {list(values.shape)}\n".encode())
        hasher.update(values.reshape(-1).view(torch.uint8).numpy())
    return hasher.hexdigest()
