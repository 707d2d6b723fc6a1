"""The worst and the best queries of each run with their nearest images: pictures and a table."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from dmlbench.data.embeddings import Embedded, read_embeddings
from dmlbench.data.pixels import Pixels
from dmlbench.evaluation.inputs import read_space
from dmlbench.evaluation.roles import scored
from dmlbench.files import atomic_write
from dmlbench.plan import paths
from dmlbench.presentation._queries import NEIGHBORS, extreme_queries, sheet_of
from dmlbench.presentation._thumbnails import SIDE, thumbnails

_NEAREST = 5
_QUALITY = 80
_EFFORT = 1  # of 6: 9 ms a sheet; 21 with the default of 4, for files that are 8 % smaller
_CHUNK = 8192
_COLUMNS = ("run", "sheet", "query", "image_id", "label", "place", "distance")


def write_neighbors(
    runs: Sequence[Mapping[str, str]], output: str | os.PathLike, *, results: str | os.PathLike
) -> None:
    """Write a sheet of pictures for each run, and one table of their content.

    A sheet has a row for each query, the worst first, then the best: the query itself, then the
    images nearest to it, each a square of `SIDE` pixels. The table, `neighbors.parquet`, has the
    columns run, sheet (file name), query (the row, from 0), image_id, label, place (0 for the
    query, 1 for the nearest image) and distance (1 - cosine similarity). Runs without queries,
    embeddings or pixels have none.

    Args:
        runs: for each run `run`, its folder; `selection`, its rule; `pixels`, the path of its
            packed images without suffix.
        output: the folder to write to.
        results: the folder of all results.
    """
    output = Path(output)
    output.mkdir(parents=True, exist_ok=True)
    tables = []
    for each in runs:
        run, pixels = each["run"], Path(each["pixels"])
        own = [paths.made("evaluate", "queries", run=run), paths.made("embed", run=run)]
        needed = [Path(results, file) for file in own]
        needed += [pixels.with_suffix(".npy"), pixels.with_suffix(".parquet")]
        if all(file.is_file() for file in needed):
            neighbors = nearest(*needed[:2], each["selection"])
            sheet = sheet_of(each["run"])
            _draw(neighbors, output / sheet, *needed[2:])
            tables.append(neighbors.assign(run=each["run"], sheet=sheet))
    shown = pd.concat(tables) if tables else pd.DataFrame(columns=_COLUMNS)
    with atomic_write(output / NEIGHBORS) as unfinished:
        shown[list(_COLUMNS)].to_parquet(unfinished, index=False)


def nearest(queries: Path, embeddings: Path, rule: str) -> pd.DataFrame:
    """Queries and the images nearest to them: query, image_id, label, place, distance."""
    test_queries, worst, best = extreme_queries(queries, rule)
    roles = read_embeddings(embeddings)[rule]
    asking, *others = scored(roles)["test"]
    gallery = roles[others[0]] if others else roles[asking]
    asked = _chosen(roles[asking], test_queries["image_id"][[*worst, *best]])
    return pd.DataFrame(_rows(asked, gallery, own=not others), columns=_COLUMNS[2:])


def _chosen(images: Embedded, image_ids: np.ndarray) -> Embedded:
    rows = [int(np.flatnonzero(images.image_ids == image_id)[0]) for image_id in image_ids]
    return Embedded(*(values[rows] for values in images))


def _rows(asked: Embedded, gallery: Embedded, *, own: bool) -> Iterator[tuple]:
    """Rows of `_COLUMNS` in the order of ranks: by exact similarity, equal ones by id."""
    space = read_space(
        asked.embeddings,
        asked.labels,
        gallery=gallery.embeddings,
        gallery_labels=gallery.labels,
        ids=asked.image_ids,
        gallery_ids=gallery.image_ids,
    )
    similarity = _similarity(space.queries.vectors, space.gallery.vectors)
    similarity = similarity[np.argsort(space.queries.row)]
    for query, (image_id, label) in enumerate(zip(asked.image_ids, asked.labels, strict=True)):
        yield query, int(image_id), int(label), 0, 0.0
        order = np.lexsort((space.gallery.tie_order, -similarity[query]))
        rows = space.gallery.row[order]
        if own:
            order, rows = (each[gallery.image_ids[rows] != image_id] for each in (order, rows))
        for place, (column, row) in enumerate(zip(order[:_NEAREST], rows, strict=False), start=1):
            image = int(gallery.image_ids[row]), int(gallery.labels[row])
            yield query, *image, place, float(1 - similarity[query, column])


def _similarity(queries: np.ndarray, gallery: np.ndarray) -> np.ndarray:
    queries = queries.astype(np.float64)
    parts = [
        queries @ gallery[begin : begin + _CHUNK].astype(np.float64).T
        for begin in range(0, len(gallery), _CHUNK)
    ]
    return np.concatenate(parts, axis=1)


def _draw(shown: pd.DataFrame, sheet: Path, pixels: Path, pixel_table: Path) -> None:
    images = thumbnails(Pixels(pixels, pixel_table), shown["image_id"].to_numpy())
    rows = int(shown["query"].max()) + 1
    canvas = Image.new("RGB", ((1 + _NEAREST) * SIDE, rows * SIDE), "white")
    for image, query, place in zip(images, shown["query"], shown["place"], strict=True):
        picture = Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image).convert("RGB")
        picture = picture.resize((SIDE, SIDE), Image.Resampling.BICUBIC)
        canvas.paste(picture, (place * SIDE, query * SIDE))
    with atomic_write(sheet) as unfinished:
        canvas.save(unfinished, "WEBP", quality=_QUALITY, method=_EFFORT)
