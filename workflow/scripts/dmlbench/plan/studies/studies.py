"""The schema of a file in config/studies: runs, and views of their scores."""

from typing import Any, Literal

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from dmlbench.plan.catalogs.choices import (
    FigureKind,
    Identifier,
    Model,
    RankingMetric,
    TableKind,
    ViewName,
)
from dmlbench.plan.catalogs.rows import OPTIONAL, Combined, model_of_rows, one_or_more
from dmlbench.plan.catalogs.variants import BASE, Variant
from dmlbench.plan.catalogs.where import Where

_Product = model_of_rows(
    "_Product",
    lambda name, kind: (one_or_more(kind), [OPTIONAL[name]] if name in OPTIONAL else ...),
)


class Grid(_Product):
    """Rows: every combination of the listed values.

    Attributes:
        variant: variants of the study: names, axes, `axis=value` or products with commas;
            `base` is the run without a change.
    """

    variant: one_or_more(str) = [BASE]
    fold: one_or_more(NonNegativeInt) | None = None


class Combine(Model):
    """Combined scores of the folds of a training.

    Attributes:
        where: rows with folds; rows that differ only in the fold are combined.
        forms: how their embeddings are combined.
    """

    where: Where = Where()
    forms: list[Combined] = Field(min_length=1)


class View(Model):
    """What tables and figures have in common.

    Attributes:
        where: which rows it shows; those of combined folds if `fold` names their form.
        measures: measures whose scores it also shows.
        experiments: experiments of the study whose results it shows.
        selection: another selection rule than the runs' own: each metric at its own best test
            epoch, for runs whose recipe lists the view's metrics as `epoch_metrics`.
    """

    title: str
    caption: str = ""
    where: Where = Where()
    selection: Literal["own_best_test_epoch"] | None = None
    measures: list[Identifier] = []
    experiments: list[Identifier] = []


class Table(View):
    """A table of scores, or of searches.

    Attributes:
        searches: searches of config/searches.yaml whose trials it shows.
    """

    kind: TableKind
    searches: list[Identifier] = []


class Figure(View):
    kind: FigureKind


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

    metric: RankingMetric = "recall_at_1"
    where: Where = Where()


class Study(Model):
    """One study: its rows and the views of their scores.

    Attributes:
        base: another study, whose keys it has where it has none of its own.
        dataset: of the base's rows, instead of their own.
        source: the paper that it reproduces: authors, title, where and when it appeared.
        audit: the folder of config/reference whose printed numbers its page checks.
        variants: by name, what grids may vary.
        runs: its rows; none for a study of experiments.
        published_runs: studies in results/published whose scores stand for runs that would be
            trained now as they were then.
        published_runs_of_other_encodings: whether they also stand for runs on the same images,
            classes and split in another encoding (`plan.specs.other_encodings`).
        combine: folds that are scored together.
        measures: entries of config/measures.yaml with which its runs are also scored.
        experiments: entries of config/experiments.yaml whose results it shows.
        tournament: which methods are ranked; none for no ranking.
        answer: tables that answer the question, with a sentence from each; by default the
            tournament, or the first table of differences.
    """

    base: Identifier | None = None
    dataset: Identifier | None = None
    title: str
    question: str
    description: str
    source: str = ""
    audit: Identifier | None = None
    variants: dict[Identifier, Variant] = {}
    runs: list[Grid] = []
    published_runs: list[Identifier] = []
    published_runs_of_other_encodings: bool = False
    combine: list[Combine] = []
    measures: list[Identifier] = []
    experiments: list[Identifier] = []
    tournament: Tournament | None = None
    answer: list[ViewName] = []
    tables: dict[ViewName, Table] = {}
    figures: dict[ViewName, Figure] = {}
    embedding_maps: dict[ViewName, EmbeddingMap] = {}

    @model_validator(mode="after")
    def _changes_a_base(self) -> "Study":
        if self.dataset is not None and self.base is None:
            raise ValueError("dataset: is for a study with a base; allowed: in runs")
        return self


def built_on_base(study: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """A study as written in YAML, with what its base says and it does not."""
    if "dataset" in study:
        moved = [grid | {"dataset": study["dataset"]} for grid in base.get("runs", [])]
        base = base | {"runs": moved}
    return base | study
