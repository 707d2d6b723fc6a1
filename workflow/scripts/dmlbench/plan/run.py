"""A run: one training, named by what it trains and not by who asks for it."""

import re
from dataclasses import dataclass

_PATH = re.compile(
    r"(?P<dataset>\w+)/(?P<network>\w+)/d(?P<embedding_dim>\d+)/(?P<method>\w+)/(?P<recipe>\w+)"
    r"/(?P<split>[\w-]+?)(?:-fold(?P<fold>\d+))?/seed(?P<seed>\d+)"
)


@dataclass(frozen=True, order=True)
class Run:
    """What a training is named by; the catalogues say what the names stand for.

    Attributes:
        fold: none where the split has no folds.
    """

    dataset: str
    network: str
    embedding_dim: int
    method: str
    recipe: str
    split: str
    fold: int | None
    seed: int

    @property
    def path(self) -> str:
        """Its folder: `cub200/resnet50/d512/proxy_anchor/psomas2020/half/seed0`."""
        fold = "" if self.fold is None else f"-fold{self.fold}"
        return (
            f"{self.dataset}/{self.network}/d{self.embedding_dim}/{self.method}/{self.recipe}"
            f"/{self.split}{fold}/seed{self.seed}"
        )

    @classmethod
    def parse(cls, path: str) -> "Run":
        """The run of a folder: the inverse of `path`.

        Raises:
            ValueError: the folder is none of a run.
        """
        match = _PATH.fullmatch(path)
        if match is None:
            raise ValueError(f"{path!r} is no run's path")
        parts = match.groupdict()
        return cls(
            dataset=parts["dataset"],
            network=parts["network"],
            embedding_dim=int(parts["embedding_dim"]),
            method=parts["method"],
            recipe=parts["recipe"],
            split=parts["split"],
            fold=None if parts["fold"] is None else int(parts["fold"]),
            seed=int(parts["seed"]),
        )
