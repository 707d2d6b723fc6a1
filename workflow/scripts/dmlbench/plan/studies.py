"""What a file under config/studies may say: runs, and the views over their scores."""

import functools
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, NonNegativeInt, PositiveInt

from dmlbench.plan.choices import (
    FigureKind,
    Identifier,
    Metric,
    Model,
    SplitName,
    TableKind,
    ViewName,
)


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


Names = Annotated[list[Identifier], BeforeValidator(_listed)]
SplitNames = Annotated[list[SplitName], BeforeValidator(_listed)]
Sizes = Annotated[list[PositiveInt], BeforeValidator(_listed)]
Numbers = Annotated[list[NonNegativeInt], BeforeValidator(_listed)]


class Where(Model):
    """Which runs: those whose value is listed, for every key that is given."""

    dataset: Names | None = None
    network: Names | None = None
    embedding_dim: Sizes | None = None
    method: Names | None = None
    recipe: Names | None = None
    split: SplitNames | None = None
    fold: Numbers | None = None
    seed: Numbers | None = None

    @functools.cached_property
    def wanted(self) -> list[tuple[str, frozenset]]:
        """The keys that are given, with their values."""
        return [(key, frozenset(values)) for key, values in self if values is not None]

    def holds(self, run) -> bool:
        """Whether a run is among them."""
        return all(getattr(run, key) in values for key, values in self.wanted)


class Grid(Model):
    """Runs: every combination of the listed values."""

    dataset: Names
    network: Names
    embedding_dim: Sizes
    method: Names
    recipe: Names
    split: SplitNames
    fold: Numbers | None = None
    seed: Numbers


class Table(Model):
    """A table of scores, or of searches.

    Attributes:
        searches: searches of config/searches.yaml that it shows in the place of runs.
    """

    title: str
    caption: str = ""
    kind: TableKind
    where: Where = Where()
    searches: list[Identifier] = []


class Figure(Model):
    title: str
    caption: str = ""
    kind: FigureKind
    where: Where = Where()


class EmbeddingMap(Model):
    """A 2-D view of embeddings with their images, a panel for each run, by method.

    Attributes:
        classes: how many test classes are shown.
    """

    title: str
    caption: str = ""
    where: Where
    classes: PositiveInt = 15


class Tournament(Model):
    """Which methods are ranked, and by what."""

    metric: Metric = "recall_at_1"
    where: Where = Where()


class Study(Model):
    """One study: its runs and the views over their scores.

    Attributes:
        audit: the folder of config/reference whose printed numbers its page checks.
    """

    title: str
    question: str
    description: str
    audit: Identifier | None = None
    runs: list[Grid] = Field(min_length=1)
    tournament: Tournament
    tables: dict[ViewName, Table] = {}
    figures: dict[ViewName, Figure] = {}
    embedding_maps: dict[ViewName, EmbeddingMap] = {}
