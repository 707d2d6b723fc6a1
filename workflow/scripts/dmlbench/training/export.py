"""Embeddings of a trained run's test images, as Parquet."""

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from safetensors.torch import load_file

from dmlbench.data.pixels import Pixels
from dmlbench.files import whole
from dmlbench.networks.embedder import Embedder
from dmlbench.plan.spec import Spec
from dmlbench.training.data import read_roles
from dmlbench.training.device import pick_device
from dmlbench.training.embedding import embed_images
from dmlbench.training.seeds import make_deterministic


def export_embeddings(
    values: dict,
    *,
    model: Path,
    last: Path,
    index: Path,
    split: Path,
    pixels: Path,
    pixel_table: Path,
    device: str,
    threads: int,
    output: Path,
) -> None:
    """Embed the test images with the selected epoch's weights and with the last epoch's.

    Writes a row an image and selection: image_id (int64), label (int64, the data set's),
    selection, embedding (fixed-size list of float32). The digests of weights, split and spec are
    in the file's metadata.
    """
    spec = Spec.model_validate(values)
    make_deterministic()
    torch.set_num_threads(threads)
    where = pick_device(device)
    images = read_roles(index, split, spec.fold)["test"]
    store = Pixels(pixels, pixel_table)
    network = Embedder(spec).to(where)
    tables = []
    for selection, weights in {spec.selection: model, "last_epoch": last}.items():
        network.load_state_dict(load_file(weights))
        embeddings = embed_images(spec, network, store, images.ids, where).numpy()
        tables.append(_table(selection, images.ids, images.labels, embeddings))
    metadata = {
        "spec": spec.digest,
        "model": _sha256(model),
        "last": _sha256(last),
        "split": _sha256(split),
    }
    with whole(output) as unfinished:
        table = pa.concat_tables(tables).replace_schema_metadata(metadata)
        pq.write_table(table, unfinished)


def read_embeddings(path: Path) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Image ids [N], labels [N] and embeddings [N, D] of each selection in a file."""
    table = pq.read_table(path)
    found = {}
    for selection in table["selection"].unique().to_pylist():
        rows = table.filter(pa.compute.equal(table["selection"], selection))
        vectors = rows["embedding"].combine_chunks()
        embeddings = vectors.flatten().to_numpy().reshape(len(vectors), -1)
        found[selection] = (rows["image_id"].to_numpy(), rows["label"].to_numpy(), embeddings)
    return found


def _table(selection: str, ids: np.ndarray, labels: np.ndarray, embeddings: np.ndarray) -> pa.Table:
    flat = pa.array(embeddings.ravel(), pa.float32())
    return pa.table(
        {
            "image_id": ids,
            "label": labels,
            "selection": pa.array([selection] * len(ids)).dictionary_encode(),
            "embedding": pa.FixedSizeListArray.from_arrays(flat, embeddings.shape[1]),
        }
    )


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
