"""Load published weights into a backbone, checking every name."""

import io
import pickle
import struct
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from dmlbench.errors import DamagedError, UserError
from dmlbench.files import digest
from dmlbench.networks.backbones._published import Published
from dmlbench.plan.catalogs.catalogues import SpecWeights

_NAMED = 3


def load_weights(backbone: nn.Module, weights: SpecWeights | None, path: Path | None) -> None:
    """Load the weights that a spec names, if any, into its backbone.

    Args:
        backbone: gets the weights; a classifier's weights in the file are left out.
        weights: the spec's file name and sha256 (or its first digits).
        path: a file of `torch.save` (tensors by name, or those under `model` or `state_dict`),
            or of safetensors.

    Raises:
        DamagedError: the file is not the spec's.
        UserError: no such file; a file without tensors by name; a backbone that has no published
            weights; missing or unexpected names, or tensors of other shapes.
    """
    if weights is None:
        return
    if not isinstance(backbone, Published):
        raise UserError(
            f"weights: {weights.file}: backbone {type(backbone).__name__} has no published "
            "weights; allowed: none"
        )
    if path is None or not Path(path).is_file():
        raise UserError(f"weights: {path or weights.file}: no such file")
    _check_digest(Path(path), weights.sha256)
    tensors = {
        name: tensor
        for name, tensor in backbone.renamed(read_tensors(Path(path))).items()
        if not name.startswith(backbone.classifier)
    }
    own = backbone.body.state_dict()
    _refuse(path, "of other shapes", [n for n in own if _differs(own[n], tensors.get(n))])
    incompatible = backbone.body.load_state_dict(tensors, strict=False)
    _refuse(path, "missing", incompatible.missing_keys)
    _refuse(path, "unexpected", incompatible.unexpected_keys)


def _check_digest(path: Path, expected: str) -> None:
    actual = digest(path)
    if not actual.startswith(expected):
        words = f"expected weights of sha256 {expected[:16]}, found {actual[:16]}"
        raise DamagedError(path, ValueError(words))


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a file by their names; a UserError if it holds something else."""
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        # From memory: torch raises an OSError when it reads a truncated file itself.
        content = torch.load(io.BytesIO(path.read_bytes()), map_location="cpu", weights_only=True)
    except (
        RuntimeError,
        EOFError,
        LookupError,
        ValueError,
        struct.error,
        pickle.UnpicklingError,
        SafetensorError,
    ) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:100]
        raise UserError(f"{path}: not a file of weights ({reason})") from None
    for key in ("model", "state_dict"):
        if isinstance(content, dict) and isinstance(content.get(key), dict):
            content = content[key]
    if not isinstance(content, dict) or not all(map(torch.is_tensor, content.values())):
        raise UserError(f"{path}: holds something other than tensors by name")
    return dict(content)


def _differs(own: Tensor, given: Tensor | None) -> bool:
    return given is not None and own.shape != given.shape


def _refuse(path: Path, what: str, names: list[str]) -> None:
    if names:
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        noun = "tensor" if len(names) == 1 else "tensors"
        raise UserError(
            f"{path}: {len(names)} {noun} {what}: {', '.join(names[:_NAMED])}{more}; allowed: "
            "those of the backbone, with or without its classifier"
        )
