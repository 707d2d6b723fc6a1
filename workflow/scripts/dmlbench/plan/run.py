"""A run: one training, identified by its content and not by the studies that use it."""

from dataclasses import dataclass

from dmlbench.plan.naming import digest_of, slug
from dmlbench.plan.spec import Spec

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
    identity = spec.identity
    digest = digest_of({"spec": identity, "data": data, "versions": versions}, DIGITS)
    loss, miner = identity["loss"], identity["miner"]
    objective = loss["name"] if loss else "untrained"
    if miner:
        objective += f"-{miner['name']}"
    fold = "" if spec.fold is None else f"-fold{spec.fold}"
    return (
        f"{spec.dataset}/{spec.network.backbone.name}/d{spec.embedding_dim}/{objective}"
        f"/{slug(spec.split)}{fold}/seed{spec.seed}-{digest}"
    )
