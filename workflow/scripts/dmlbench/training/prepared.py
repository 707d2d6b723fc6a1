"""Embeddings that a training wrote at its end, used without torch if they are valid.

A training has network and images at hand, and the rule `embed` still makes the file: it checks and
moves it, and embeds again only if the code that embeds was edited, when no training runs. Embedding
in the rule alone would cost each run another process that loads torch and reads the images on a
GPU. Measured: up to its first image such a process takes 3.0 s of CPU time, moving takes 0.5 s
(medians of 3 runs each, in turn).
"""

import logging
import os
from pathlib import Path

from dmlbench.errors import DamagedError
from dmlbench.parquet import read_metadata
from dmlbench.plan.sources import library_digest
from dmlbench.plan.specs.spec import Spec
from dmlbench.provenance import digest

_log = logging.getLogger(__name__)


def origin(spec: Spec, *, model: Path, last: Path, split: Path) -> dict[str, str]:
    """The origin of embeddings, as in the metadata of their file.

    Digests of spec, selected and last weights, split, and the library.
    """
    return {
        "spec": spec.digest,
        "model": digest(model),
        "last": digest(last),
        "split": digest(split),
        "code": library_digest(),
    }


def take_prepared(
    values: dict, *, prepared: Path | None, model: Path, last: Path, split: Path, output: Path
) -> bool:
    """Move a prepared file of embeddings to its place if it equals what would be computed now.

    Args:
        values: the run's spec, as plain values.
        prepared: what `train` may have written; None for nothing.
        model, last: the run's weights.
        split: Parquet file of the images' roles.
        output: gets the file.

    Returns:
        Whether it existed, was intact, and was made from this spec, these weights and this split by
        this code; otherwise it stays in place.
    """
    if prepared is None or not Path(prepared).is_file():
        return False
    try:
        metadata = read_metadata(prepared)
    except DamagedError as error:
        _log.warning("%s: embedding again", error)
        return False
    spec = Spec.model_validate(values)
    wanted = origin(spec, model=model, last=last, split=split)
    if {key.decode(): value.decode() for key, value in metadata.items()} != wanted:
        _log.warning("%s: of other weights, split or code: embedding again", prepared)
        return False
    os.replace(prepared, output)
    return True
