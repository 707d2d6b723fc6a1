"""The vectors of a data set of features, as heads train on them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dmlbench.data.features import write_features
from dmlbench.data.index import check_contents, read_index
from dmlbench.evaluation.checks import check_rows
from dmlbench.image_folder import matrix_next_to
from dmlbench.matrix_files import read_matrix


def take_vectors(
    index: Path,
    archives: list[Path],
    output: Path,
    *,
    contents: str,
    options: Mapping[str, Any],
) -> None:
    """Write the vectors of a list, as `dmlbench.data.features.Features` reads them.

    Args:
        index: of a data set with the layout `vectors`.
        archives: the list.
        output: the file to write.
        contents: the identity of list and matrix that is expected.
        options: of the layout.

    Raises:
        UserError: another file than was indexed; numbers beyond those of 32 bits.
    """
    (listed,) = map(Path, archives)
    check_contents(listed, options["file"], contents)
    images = read_index(index)
    path = matrix_next_to(listed, options["file"]) or listed
    with np.errstate(over="ignore"):
        vectors = read_matrix(path, len(images)).astype(np.float32)[images["row"].to_numpy()]
    check_rows(vectors, f"{path}: as numbers of 32 bits")
    write_features(
        output, np.array(images["image_id"]), torch.from_numpy(vectors), {"contents": contents}
    )
