"""The output files of a finished training."""

import json
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
from torch import Tensor

from dmlbench.digits import limits
from dmlbench.files import write_text
from dmlbench.machine import PROVENANCE, commit, instructions, lock, machine, software
from dmlbench.parquet import write_table
from dmlbench.plan.catalogs.read import as_yaml
from dmlbench.plan.specs.spec import Spec, complete
from dmlbench.tensor_files import write_tensors


def write_spec(path: Path, spec: Spec) -> None:
    """Write the spec in full, as YAML."""
    write_text(path, as_yaml(complete(spec.as_dict())))


def write_history(
    path: Path, rows: list[dict], device: str, *, threads: int, computed_by: list[str]
) -> None:
    """Write one row per epoch as Parquet; scores of epochs without evaluation are missing.

    The file's metadata contain, under `PROVENANCE`, what the training ran on.

    Args:
        threads: CPU threads of torch.
        computed_by: as `Checkpoint.computed_by`; more than one if the training was resumed under
            conditions that change its last digits.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    table = pa.table({name: [row.get(name) for row in rows] for name in names})
    metadata = {PROVENANCE: json.dumps(_provenance(device, threads, computed_by))}
    table = table.replace_schema_metadata(metadata)
    write_table(table, path)


def conditions(device: str, threads: int) -> str:
    """What the last digits of a training depend on, besides its spec."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "torchvision", "numpy"))
    return f"{device}, {threads} threads, {_instructions()}, {versions}"


def _instructions() -> str:
    limited = f", limited by {limits()}" if limits() else ""
    return f"{instructions()}{limited}"


def _provenance(device: str, threads: int, computed_by: list[str]) -> dict[str, str]:
    return {
        "device": device,
        "machine": machine(),
        "threads": str(threads),
        "resumed": "; then ".join(computed_by) if len(computed_by) > 1 else "",
        "instructions": _instructions(),
        "software": software(),
        "commit": commit(),
        "lock": lock(),
    }


def write_weights(path: Path, weights: dict[str, Tensor], spec: Spec, epoch: int) -> None:
    """Write weights as safetensors, with the spec's digest and their epoch in the metadata."""
    weights = {name: tensor.cpu().contiguous() for name, tensor in weights.items()}
    write_tensors(path, weights, {"spec": spec.digest, "epoch": epoch})
