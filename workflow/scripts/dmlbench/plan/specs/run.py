"""A run: one training, identified by its content and not by the studies that use it."""

import os
import re
from dataclasses import dataclass

from dmlbench.errors import MisplacedError
from dmlbench.plan.catalogs.naming import digest_of, slug
from dmlbench.plan.specs.spec import Spec

DIGITS = 12
FOLDER = rf"\w+/\w+/d\d+/[\w-]+/[\w.-]+/seed\d+-[0-9a-f]{{{DIGITS}}}"
"""Regular expression of a run's folder."""
ANY_FOLDER = "*/*/*/*/*/*"
"""Pattern of file names that every run's folder matches."""


@dataclass(frozen=True)
class Run:
    """A training in full.

    Attributes:
        spec: everything that can change its result, except data and code.
        folder: its folder below `results/runs`: a readable prefix, then the digest of spec, data
            and versions of the code. Equal runs share a folder, and different ones never do, so
            that nothing finished is overwritten.
    """

    spec: Spec
    folder: str

    def __hash__(self) -> int:
        return hash(self.folder)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and self.folder == other.folder


def folder_of(spec: Spec, *, data: str, versions: dict[str, int]) -> str:
    """The folder of a run.

    Args:
        data: identity of the data set's images and labels.
        versions: part -> version of its code, for the parts that the spec names.
    """
    values = {"spec": spec.identity, "data": data, "versions": versions}
    return f"{_readable(spec)}-{digest_of(values, DIGITS)}"


def check_folder(spec: Spec, folder: str | os.PathLike) -> None:
    """Raise a MisplacedError if a run's folder is named as another run's.

    What its name says in words is compared: this also works for runs without a record. A folder
    that is not named as runs are promises nothing.

    Args:
        spec: what the folder says that it is.
        folder: as it is called.
    """
    here = "/".join(os.path.abspath(folder).split("/")[-_PARTS:])
    # A search may have found other values of what the name says.
    if spec.search is not None or not re.fullmatch(FOLDER, here):
        return
    names = (here.rpartition("-")[0], _readable(spec))
    # The version of a split may have been raised since.
    promised, found = (re.sub(r"-v\d+(?=[-/])", "", name) for name in names)
    if promised != found:
        raise MisplacedError(folder, f"a run {names[1]}")


_PARTS = FOLDER.count("/") + 1


def _readable(spec: Spec) -> str:
    identity = spec.identity
    loss, miner = identity["loss"], identity["miner"]
    objective = loss["name"] if loss else "untrained"
    if miner:
        objective += f"-{miner['name']}"
    fold = "" if spec.fold is None else f"-fold{spec.fold}"
    return (
        f"{spec.dataset}/{spec.network.backbone.name}/d{spec.embedding_dim}/{objective}"
        f"/{slug(spec.split)}{fold}/seed{spec.seed}"
    )
