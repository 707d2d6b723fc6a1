"""Networks of runs as files for other programs."""

import contextlib
import copy
import importlib.util
import json
import logging
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor, nn

from dmlbench.errors import UserError, unknown
from dmlbench.files import atomic_write
from dmlbench.inference.network import evaluation_steps
from dmlbench.inference.run_folder import KEY
from dmlbench.plan.specs.spec import Spec

_OPSET = 18
_SHAPES = ({0: torch.export.Dim("batch")},)
"""Batches may have any size."""


def export(model, kind: str, output: str | Path | None) -> Path:
    """What `dmlbench.inference.model.Model.export` does."""
    suffix, write = known_kind(kind)
    path = Path(f"model{suffix}") if output is None else Path(output)
    if path.suffix != suffix:
        raise UserError(f"{path}: a name for {kind}; allowed: one that ends in {suffix}")
    with atomic_write(path) as unfinished:
        write(model, unfinished)
    return path


def known_kind(kind: str) -> tuple[str, Callable[..., None]]:
    """The suffix of a kind's file and what writes it; a UserError for an unknown kind."""
    if kind not in KINDS:
        raise unknown("kind of export", kind, KINDS)
    return KINDS[kind]


def preprocessing(model) -> dict:
    """How a picture becomes the input of an exported network, as plain values, and a check of it.

    Args:
        model: a `dmlbench.inference.model.Model`.
    """
    spec = model.spec
    network, _ = _in_float32(model)
    picture = _check_picture(spec)
    with torch.inference_mode():
        (embedding,) = network(model.images([picture]))
    return {
        "mode": spec.network.mode,
        "upright": "by EXIF data",
        "shorter_side": spec.network.pixels,
        "longer_side": "shorter_side * longer / shorter, rounded down",
        "resampling": "bilinear, antialiased, of 8-bit values, rounded to 8 bits, as Pillow does",
        "transforms": evaluation_steps(spec),
        "center_crop": "begins at (side - size) / 2, halves rounded to even",
        "resize": "the shorter side to size, the longer one rounded down; bilinear, antialiased",
        "values": "float32 from 0 to 1, colors as RGB; mean and std are part of the network",
        "check": {
            "picture": "uint8 of this shape (height, width, colors); value (3 x + 5 y + 7 c) % 256",
            "shape": list(picture.shape),
            "embedding": embedding.tolist(),
        },
    }


def _check_picture(spec: Spec) -> np.ndarray:
    """A picture that anybody can make, whose longer side and crop are rounded."""
    side = spec.network.pixels
    y, x, c = np.indices((2 * side, 3 * side + 1, 3))
    picture = ((3 * x + 5 * y + 7 * c) % 256).astype(np.uint8)
    return picture if spec.network.mode == "rgb" else picture[..., 0]


def _torch(model, path: Path) -> None:
    network, example = _in_float32(model)
    with _quiet():
        program = torch.export.export(network.eval(), (example,), dynamic_shapes=_SHAPES)
        described = {"preprocessing": json.dumps(preprocessing(model))}
        # It reads the kind of a file from its name, which an unfinished one does not end in.
        with open(path, "wb") as file:
            torch.export.save(program, file, extra_files=described)


def _onnx(model, path: Path) -> None:
    for package in ("onnx", "onnxscript"):
        if importlib.util.find_spec(package) is None:
            raise UserError(
                f"export onnx: the package {package} is not installed; allowed after: "
                "pip install onnx onnxscript"
            )
    import onnx

    network, example = _in_float32(model)
    with _quiet():
        program = torch.onnx.export(
            network,
            (example,),
            input_names=["images"],
            output_names=["embeddings"],
            dynamic_shapes=_SHAPES,
            opset_version=_OPSET,
            dynamo=True,
            verbose=False,
        )
    described = program.model_proto
    onnx.helper.set_model_props(described, {"preprocessing": json.dumps(preprocessing(model))})
    onnx.save(described, path)


def _safetensors(model, path: Path) -> None:
    facts = {"values": model.spec.as_dict(), "preprocessing": preprocessing(model)}
    facts |= {"weights": model.origin["weights"]}
    tensors = model.network.state_dict()
    tensors = {name: tensor.cpu().contiguous() for name, tensor in tensors.items()}
    path.write_bytes(save(tensors, {KEY: json.dumps(facts)}))


KINDS: dict[str, tuple[str, Callable[..., None]]] = {
    "torch": (".pt2", _torch),
    "onnx": (".onnx", _onnx),
    "safetensors": (".safetensors", _safetensors),
}
"""Kind of export -> suffix of its file, and what writes it."""


def _in_float32(model) -> tuple[nn.Module, Tensor]:
    """The network on the CPU, computing in float32, and two images of the size that it takes."""
    network = copy.deepcopy(model.network).cpu()
    network.embedder.reduced = False
    side = model.spec.network.pixels
    blank = np.zeros((side, side), dtype=np.uint8)
    return network, model.images([blank, blank])


@contextlib.contextmanager
def _quiet():
    """Without the exporter's notes about packages and operators that a user cannot act on."""
    names = ("torch.onnx", "onnxscript", "onnx_ir")
    levels = {name: logging.getLogger(name).level for name in names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            logging.getLogger(name).setLevel(logging.ERROR)
        try:
            yield
        finally:
            for name, level in levels.items():
                logging.getLogger(name).setLevel(level)
