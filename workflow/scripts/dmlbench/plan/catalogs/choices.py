"""The vocabulary of the configuration: identifiers, metrics, and parts chosen by name."""

import re
from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    StringConstraints,
    model_validator,
)

from dmlbench import registry
from dmlbench.errors import UserError
from dmlbench.evaluation.names import check_metric, check_ranking_metric, quantity
from dmlbench.plan.catalogs.identity import current


def _is_no_fold(name: str) -> str:
    if re.search(r"-fold\d+$", name):
        raise ValueError("reads like a fold of another split; any other ending is allowed")
    return name


# Identifiers become folders, rule names and shell words: other characters are not allowed.
IDENTIFIER = r"[a-z][a-z0-9_]*"
Identifier = Annotated[str, StringConstraints(pattern=rf"^{IDENTIFIER}$")]
# A view may be named by its number in the paper: "06".
ViewName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_]*$")]
SplitName = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z][a-z0-9_]*(-[a-z0-9_]+)*$"),
    AfterValidator(_is_no_fold),
]
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Md5 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
# Names of weight files contain the first digits of their hash; 32 digits would look like an md5.
Sha256Start = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{8,31}|[0-9a-f]{64})$")]


# Characters that Snakemake reads as wildcards or a shell would interpret.
_NOT_IN_PATHS = set("{}*?<>;|&$`\"'\\!#")


# Names of a user's folders have these; no shell ever reads one, for scripts alone read images.
_NOT_IN_FOLDERS_OF_IMAGES = _NOT_IN_PATHS - set("'&!#")


def _is_plain(path: str) -> str:
    return _without(path, _NOT_IN_PATHS)


def _names_images(path: str) -> str:
    return _without(path, _NOT_IN_FOLDERS_OF_IMAGES)


def _without(path: str, refused: set[str]) -> str:
    wrong = sorted(c for c in set(path) if c in refused or not c.isprintable())
    if wrong:
        raise ValueError(f"has {' '.join(map(ascii, wrong))}; allowed: a path without them")
    if not path or path.startswith("-"):
        raise ValueError("is not a path; allowed: ./-name, as hyphens begin options, or any other")
    return path


Folder = Annotated[str, AfterValidator(_is_plain)]
FolderOfImages = Annotated[str, AfterValidator(_names_images)]


def _checked_metric(name: str) -> str:
    check_metric(name)
    return name


def _ranks(name: str) -> str:
    check_ranking_metric(name)
    return name


def _is_maximized(name: str) -> str:
    check_ranking_metric(name)
    if quantity(name).better != "higher":
        raise UserError(f"metric {name!r}: the lower the better; allowed: one to be maximized")
    return name


Metric = Annotated[str, BeforeValidator(_checked_metric)]
RankingMetric = Annotated[str, BeforeValidator(_ranks)]
MaximizedMetric = Annotated[str, BeforeValidator(_is_maximized)]
"""Trainings and searches keep the epoch or trial with the highest score."""


class Model(BaseModel):
    """An immutable model that rejects unknown keys."""

    # Otherwise an infinite margin would become null in JSON.
    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="constants")


_CHECKED: set[tuple[str, str, str]] = set()
"""Choices that have been checked: thousands of runs share a few."""


class Choice(BaseModel):
    """A part of a package with its options: `{name: proxy_anchor, margin: 0.1}`.

    A part without options may be written as its name alone. An earlier part is read as the one that
    replaces it.
    """

    model_config = ConfigDict(extra="allow", frozen=True, ser_json_inf_nan="constants")
    package: ClassVar[str]
    name: str

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        value = {"name": value} if isinstance(value, str) else value
        return current(cls.package, value) if isinstance(value, dict) and "name" in value else value

    @model_validator(mode="after")
    def _exists(self) -> "Choice":
        choice = (self.package, self.name, repr(self.model_extra))
        if choice not in _CHECKED:
            registry.check_options(self.package, self.name, self.hyperparameters)
            _CHECKED.add(choice)
        return self

    @property
    def hyperparameters(self) -> dict:
        """Everything but the name."""
        return dict(self.model_extra)


class Loss(Choice):
    package = "losses"


class Miner(Choice):
    package = "miners"


class Sampler(Choice):
    package = "samplers"


class Regularizer(Choice):
    package = "regularizers"


class Backbone(Choice):
    package = "networks/backbones"


class Generator(Choice):
    package = "data/generators"


class Layout(Choice):
    package = "data/layouts"


class SplitRule(Choice):
    package = "data/splits"


class Transform(Choice):
    package = "data/transforms"


class Strategy(Choice):
    package = "search/strategies"


class Pruner(Choice):
    package = "search/pruners"


class TableKind(Choice):
    package = "presentation/tables"


class FigureKind(Choice):
    package = "presentation/figures"
