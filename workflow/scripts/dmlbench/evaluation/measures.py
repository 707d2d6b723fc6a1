"""Measures of a run beyond its scores: metrics and arrays of one role's embeddings."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from dmlbench.data.embeddings import Embedded, read_embeddings
from dmlbench.errors import UserError
from dmlbench.evaluation.inputs import unit_rows
from dmlbench.evaluation.run_scores import limit_threads, score_rows, warn_of_caveats, write_rows
from dmlbench.evaluation.scoring import evaluate
from dmlbench.evaluation.structure import class_spectrum, singular_values
from dmlbench.files import atomic_write


def write_measure(
    *,
    embeddings: Path,
    role: str,
    metrics: Sequence[str],
    arrays: Sequence[str],
    threads: int,
    output: Path,
    arrays_output: Path,
    distance: str = "cosine",
) -> None:
    """Measure one role's embeddings under every selection.

    Args:
        embeddings: Parquet file of `dmlbench.data.embeddings`.
        role: `train`, `validation` or `test`.
        metrics: names of `dmlbench.evaluation.names`.
        arrays: names of `ARRAYS`.
        distance: as `evaluate` takes it; arrays are of the embeddings that it compares.
        threads: CPU threads of the process.
        output: written: one row per selection and metric, as a run's scores are.
        arrays_output: written: npz with an array per selection and name, `<selection>/<name>`.

    Raises:
        UserError: there are no embeddings of the role.
    """
    limit_threads(threads)
    rows, measured = [], {}
    for selection, roles in read_embeddings(embeddings).items():
        if role not in roles:
            raise UserError(f"{embeddings}: no {role} images; it has {', '.join(sorted(roles))}")
        images = roles[role]
        result = evaluate(
            images.embeddings,
            images.labels,
            ids=images.image_ids,
            metrics=list(metrics),
            distance=distance,
        )
        warn_of_caveats(result, f"{role}, {selection}")
        rows += score_rows(result.scores, role, selection)
        vectors, classes = _by_class(images, distance)
        measured |= {f"{selection}/{name}": ARRAYS[name](vectors, classes) for name in arrays}
    write_rows(rows, output)
    with atomic_write(arrays_output) as unfinished, open(unfinished, "wb") as file:
        np.savez(file, **measured)


def _by_class(images: Embedded, distance: str) -> tuple[np.ndarray, np.ndarray]:
    """Embeddings and labels, images of a class next to each other; at unit length for cosine."""
    order = np.argsort(images.labels, kind="stable")
    vectors = images.embeddings[order]
    return unit_rows(vectors) if distance == "cosine" else vectors, images.labels[order]


ARRAYS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "singular_values": lambda vectors, _: singular_values(vectors),
    "class_singular_values": class_spectrum,
}
"""Name -> what is computed of vectors and classes; spectra: roth2020, section 5, appendix H."""
