"""What a finished run is: its spec and its weights, from its folder or an exported file."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from dmlbench import provenance
from dmlbench.errors import DamagedError, UserError
from dmlbench.files import damage_is_named
from dmlbench.inference.network import ImageEmbedder
from dmlbench.networks.weights import load_weights
from dmlbench.plan import paths
from dmlbench.plan.catalogs.read import checked, read_mapping
from dmlbench.plan.specs.run import check_folder
from dmlbench.plan.specs.spec import Spec
from dmlbench.training.seeds import derived_seed

KEY = "dmlbench"
"""Metadata key of what this library writes about weights."""

MODEL, SPEC, EMBEDDINGS = (
    Path(paths.made(rule, output)).name
    for rule, output in (("train", "model"), ("train", "spec"), ("embed", ""))
)


def read_run(run: Path, weights: Path | None) -> tuple[Spec, ImageEmbedder]:
    """A run's spec and network, with the weights of the epoch that its rule selected.

    Args:
        run: its folder, or a .safetensors that was exported from it.
        weights: the file of published weights of a frozen network, if it is not in the results.

    Raises:
        DamagedError: a file that is not as its record says.
        UserError: no finished run; published weights that are missing.
    """
    if run.suffix == ".safetensors":
        tensors, facts = _read(run)
        if "values" not in facts:
            raise UserError(f"{run}: allowed: a run's folder, or what `export` wrote of one")
        if digest_of(tensors) != facts.get("weights"):
            raise DamagedError(run, ValueError("its weights are not those that were exported"))
        spec = checked(facts["values"], Spec, where=str(run))
        network = ImageEmbedder(spec)
        _put(tensors, network, run)
        return spec, network
    for file in (SPEC, MODEL):
        if not (run / file).is_file():
            problem = "has not finished training" if run.is_dir() else "no such folder"
            raise UserError(f"{run}: {problem}; allowed: a finished run, whose folder has {file}")
        provenance.check(run / file)
    spec = checked(read_mapping(run / SPEC), Spec, where=str(run / SPEC))
    check_folder(spec, run)
    tensors, _ = _read(run / MODEL)
    with torch.random.fork_rng(devices=[]):
        # Frozen networks without published weights are drawn with it (training/extraction.py).
        torch.manual_seed(derived_seed(0, "initial weights"))
        network = ImageEmbedder(spec)
    _put(tensors, network.embedder, run / MODEL)
    if spec.network.frozen is not None:
        load_weights(
            network.extractor.backbone, spec.network.weights, weights or _weights(run, spec)
        )
    return spec, network


def digest_of(tensors: Mapping[str, Tensor]) -> str:
    """Hexadecimal SHA-256 digest of tensors with their names and shapes."""
    hasher = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        hasher.update(f"{name} {list(tensor.shape)}".encode())
        hasher.update(tensor.cpu().contiguous().numpy())
    return hasher.hexdigest()


def _weights(run: Path, spec: Spec) -> Path | None:
    """Where the results that a run is in have the published weights of its network."""
    if spec.network.weights is None:
        return None
    name = paths.made("weights", file=spec.network.weights.file)
    files = [above / name for above in run.resolve().parents if (above / name).is_file()]
    if not files:
        raise UserError(
            f"{run}: its network is frozen, and {name} is in no folder above; allowed: the file as "
            "`weights`, or a .safetensors that was exported where it is"
        )
    return files[0]


def _read(file: Path) -> tuple[dict[str, Tensor], dict]:
    """Tensors by name, and what is written about them."""
    if not file.is_file():
        raise UserError(f"{file}: no such file")
    with damage_is_named(file, SafetensorError), safe_open(file, "pt") as opened:
        facts = json.loads((opened.metadata() or {}).get(KEY, "{}"))
        return {name: opened.get_tensor(name) for name in opened.keys()}, facts  # noqa: SIM118


def _put(tensors: dict[str, Tensor], module: torch.nn.Module, file: Path) -> None:
    with damage_is_named(file, RuntimeError):
        module.load_state_dict(tensors)
