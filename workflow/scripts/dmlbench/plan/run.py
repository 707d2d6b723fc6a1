"""A run: one training, known by what it is and not by who asks for it."""

from dataclasses import dataclass

from dmlbench.plan.naming import digest_of, slug
from dmlbench.plan.spec import Spec

DIGITS = 12
FOLDER = rf"\w+/\w+/d\d+/[\w-]+/[\w.-]+/seed\d+-[0-9a-f]{{{DIGITS}}}"
"""What a run's folder looks like, as a regular expression."""


@dataclass(frozen=True)
class Run:
    """A training in full.

    Attributes:
        spec: everything that can change its result but data and code.
        folder: its place below `results/runs`: a prefix to read and sort by, then the digest of
            spec, data and versions of the code. Equal runs have equal folders, whoever asks for
            them; whatever differs has another folder, so that nothing finished is overwritten.
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
    digest = digest_of({"spec": spec.identity, "data": data, "versions": versions}, DIGITS)
    objective = spec.loss.name if spec.loss else "untrained"
    if spec.miner:
        objective += f"-{spec.miner.name}"
    fold = "" if spec.fold is None else f"-fold{spec.fold}"
    return (
        f"{spec.dataset}/{spec.network.backbone.name}/d{spec.embedding_dim}/{objective}"
        f"/{slug(spec.split)}{fold}/seed{spec.seed}-{digest}"
    )
