"""Embeddings as Parquet: a row an image and selection."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dmlbench.files import whole


def write_embeddings(
    path: Path,
    image_ids: np.ndarray,
    labels: np.ndarray,
    embeddings: dict[str, np.ndarray],
    metadata: dict[str, str],
) -> None:
    """Write the embeddings of the same images under one or more selections.

    Columns: image_id and label (int64), selection (text), embedding (fixed-size list of float32).

    Args:
        path: the Parquet file to write.
        image_ids, labels: int64 [N]; the labels are the data set's.
        embeddings: selection -> float32 [N, D].
        metadata: kept in the file's schema; digests of what the embeddings were made of.
    """
    tables = []
    for selection, vectors in embeddings.items():
        flat = pa.array(vectors.ravel(), pa.float32())
        columns = {
            "image_id": image_ids,
            "label": labels,
            "selection": pa.array([selection] * len(image_ids)),
            "embedding": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]),
        }
        tables.append(pa.table(columns))
    with whole(path) as unfinished:
        pq.write_table(pa.concat_tables(tables).replace_schema_metadata(metadata), unfinished)


def read_embeddings(path: Path) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Image ids [N], labels [N] and embeddings [N, D] of each selection in a file."""
    table = pq.read_table(path)
    found = {}
    for selection in table["selection"].unique().to_pylist():
        rows = table.filter(pc.equal(table["selection"], selection))
        vectors = rows["embedding"].combine_chunks()
        embeddings = vectors.flatten().to_numpy().reshape(len(vectors), -1)
        found[selection] = (rows["image_id"].to_numpy(), rows["label"].to_numpy(), embeddings)
    return found
