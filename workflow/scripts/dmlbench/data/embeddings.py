"""Embeddings as Parquet: one row per image and selection."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dmlbench.parquet import read_table, write_table


class Embedded(NamedTuple):
    """The embedded images of one role.

    Attributes:
        image_ids, labels: int64 [N]; the labels are the data set's.
        embeddings: float32 [N, D].
    """

    image_ids: np.ndarray
    labels: np.ndarray
    embeddings: np.ndarray


def write_embeddings(
    path: Path, embeddings: Mapping[str, Mapping[str, Embedded]], metadata: dict[str, str]
) -> None:
    """Write embeddings under one or more selections.

    Columns: image_id and label (int64), role and selection (text), embedding (fixed-size list of
    float32).

    Args:
        path: the Parquet file to write.
        embeddings: selection -> role -> images.
        metadata: kept in the file's schema; digests of what the embeddings were computed from.
    """
    tables = [
        _table(images, role, selection)
        for selection, roles in embeddings.items()
        for role, images in roles.items()
    ]
    write_table(pa.concat_tables(tables).replace_schema_metadata(metadata), path)


def read_embeddings(path: Path) -> dict[str, dict[str, Embedded]]:
    """The images of a file by selection and role."""
    table = read_table(path)
    by_selection = {}
    for selection in table["selection"].unique().to_pylist():
        selected = table.filter(pc.equal(table["selection"], selection))
        by_selection[selection] = {
            role: _embedded(selected.filter(pc.equal(selected["role"], role)))
            for role in selected["role"].unique().to_pylist()
        }
    return by_selection


def _table(images: Embedded, role: str, selection: str) -> pa.Table:
    flat = pa.array(images.embeddings.ravel(), pa.float32())
    columns = {
        "image_id": images.image_ids,
        "label": images.labels,
        "role": pa.array([role] * len(images.image_ids)),
        "selection": pa.array([selection] * len(images.image_ids)),
        "embedding": pa.FixedSizeListArray.from_arrays(flat, images.embeddings.shape[1]),
    }
    return pa.table(columns)


def _embedded(rows: pa.Table) -> Embedded:
    vectors = rows["embedding"].combine_chunks()
    embeddings = vectors.flatten().to_numpy().reshape(len(vectors), -1)
    return Embedded(rows["image_id"].to_numpy(), rows["label"].to_numpy(), embeddings)
