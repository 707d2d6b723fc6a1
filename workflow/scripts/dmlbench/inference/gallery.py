"""Embedded pictures: kept as Parquet, and searched exactly."""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from dmlbench.errors import UserError, check_count
from dmlbench.parquet import read_metadata, read_table, write_table

_KEY = b"dmlbench"
_ROWS_AT_ONCE = 1 << 16


class Neighbor(NamedTuple):
    """A picture that was found.

    Attributes:
        picture: its path, or the image id of one of the run's own images.
        distance: 1 - cosine similarity, from 0 to 2.
        label: of one of the run's own images, else None.
    """

    picture: str | int
    distance: float
    label: int | None = None


class Gallery(NamedTuple):
    """Embedded pictures.

    Attributes:
        pictures: path of each, or its image id.
        embeddings: float32 [N, D].
        labels: of each, if known.
    """

    pictures: list[str] | list[int]
    embeddings: np.ndarray
    labels: list[int] | None = None

    def nearest(self, query: np.ndarray, k: int) -> list[Neighbor]:
        """The k pictures nearest to an embedding [D], the nearest first; equal ones in order.

        Every picture is compared, in double precision. One query reads all embeddings once, which
        an index of faiss that is as exact does, too.

        Raises:
            UserError: k that is not positive; an embedding that is not finite or of another size;
                no picture.
        """
        check_count("k", k, least=1)
        if not len(self.embeddings):
            raise UserError("no picture to search; allowed: 1 or more")
        size = self.embeddings.shape[1]
        if query.shape != (size,):
            raise UserError(
                f"query: an embedding {list(query.shape)}; allowed: {[size]}, as the gallery's"
            )
        if not np.isfinite(query).all():
            raise UserError("query: its embedding is not finite; allowed: finite numbers")
        finite = np.isfinite(self.embeddings).all(axis=1)
        if not finite.all():
            picture = self.pictures[int(finite.argmin())]
            raise UserError(f"{picture}: its embedding is not finite; allowed: finite numbers")
        similarity = np.concatenate(
            [
                _cosines(self.embeddings[start : start + _ROWS_AT_ONCE], query)
                for start in range(0, len(self.embeddings), _ROWS_AT_ONCE)
            ]
        )
        return [
            Neighbor(
                self.pictures[place],
                float(1 - similarity[place]),
                None if self.labels is None else self.labels[place],
            )
            for place in np.argsort(-similarity, kind="stable")[:k].tolist()
        ]

    def without(self, path: Path) -> "Gallery":
        """The same without one file, whatever it is called."""
        if not path.is_file():
            return self
        kept = [n for n, each in enumerate(self.pictures) if not _is(Path(each), path)]
        return Gallery([self.pictures[n] for n in kept], self.embeddings[kept])


def write_gallery(gallery: Gallery, origin: dict, output: Path) -> None:
    """Write pictures as Parquet: path (text) and embedding (fixed-size list of float32).

    Args:
        origin: which network made the embeddings, as plain values; in the metadata.
    """
    flat = pa.array(gallery.embeddings.ravel(), pa.float32())
    vectors = pa.FixedSizeListArray.from_arrays(flat, gallery.embeddings.shape[1])
    table = pa.table({"path": pa.array(gallery.pictures, pa.string()), "embedding": vectors})
    write_table(table.replace_schema_metadata({_KEY: json.dumps(origin)}), output)


def read_gallery(path: Path, origin: dict) -> Gallery:
    """What `write_gallery` wrote; a UserError if it is not there or another network made it."""
    if not path.is_file():
        raise UserError(
            f"{path}: no such file; allowed: a folder, or what `dmlbench embed` wrote of it"
        )
    if json.loads(read_metadata(path).get(_KEY, b"{}")) != origin:
        raise UserError(
            f"{path}: not of this run's network; allowed: what `dmlbench embed` wrote of it"
        )
    rows = read_table(path)
    vectors = rows["embedding"].combine_chunks()
    embeddings = vectors.flatten().to_numpy().reshape(len(vectors), -1)
    return Gallery(rows["path"].to_pylist(), embeddings)


def _cosines(rows: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Cosine similarities of rows [N, D] and a query [D]; 0 for vectors without a direction."""
    rows, query = rows.astype(np.float64), query.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(query)
    cosines = np.divide(rows @ query, lengths, out=np.zeros(len(rows)), where=lengths > 0)
    return cosines.clip(-1, 1)


def _is(one: Path, other: Path) -> bool:
    return one.name == other.name and one.is_file() and one.samefile(other)
