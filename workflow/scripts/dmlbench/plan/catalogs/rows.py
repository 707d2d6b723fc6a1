"""A row: what a study lists and its tables and figures show; each row has a run.

A coordinate is a field of `Row`. Filters, grids, tuned runs, the columns of the long table and the
keys of tables are derived from the fields. A field with a default is optional in studies, and its
default is the value of what never mentions it: experiments and printed numbers. What the values of
a coordinate do to a run is in `plan.specs.spec`.
"""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, NonNegativeInt, PositiveInt, create_model

from dmlbench.plan.catalogs.choices import Identifier, Model, SplitName

Combined = Literal["concatenated", "separated"]
"""Forms of combined folds: their embeddings as one, or each scored alone and averaged."""
Fold = NonNegativeInt | Combined


@dataclass(frozen=True)
class Row:
    """One combination of what a study lists.

    Attributes:
        study: the study, which also defines variants.
        variant: the named change of the spec; empty for none.
        fold: None if the split has no folds; `concatenated` or `separated` for the scores of all
            folds together.
    """

    study: str
    dataset: Identifier
    network: Identifier
    embedding_dim: PositiveInt
    method: Identifier
    recipe: Identifier
    variant: str
    split: SplitName
    fold: Fold | None
    seed: NonNegativeInt

    @property
    def label(self) -> str:
        """One line for messages: `cub200/resnet50/d512/margin/psomas2020/half/seed0`."""
        variant = f"/{self.variant}" if self.variant else ""
        fold = "" if self.fold is None else f"-fold{self.fold}"
        chosen = {name: getattr(self, name) for name in OPTIONAL}
        optional = "".join(f"/{value}" for name, value in chosen.items() if value != OPTIONAL[name])
        return (
            f"{self.dataset}/{self.network}/d{self.embedding_dim}/{self.method}/{self.recipe}"
            f"{variant}{optional}/{self.split}{fold}/seed{self.seed}"
        )

    @property
    def columns(self) -> dict[str, str | int]:
        """Its values in the long table; the fold is a text, empty for none."""
        values = {name: getattr(self, name) for name in COORDINATES}
        return values | {"fold": "" if self.fold is None else str(self.fold)}


_FIELDS = {field.name: field for field in fields(Row) if field.name != "study"}
COORDINATES = tuple(_FIELDS)
OPTIONAL = {name: each.default for name, each in _FIELDS.items() if each.default is not MISSING}
"""Optional coordinate -> its default."""

NUMBERS = tuple(name for name, each in _FIELDS.items() if get_args(each.type)[:1] == (int,))
"""The coordinates that are whole numbers in the long table; all others are text."""

NOTHING = {name: OPTIONAL.get(name, 0 if name in NUMBERS else "") for name in COORDINATES}
"""Coordinate -> its value in the long table for results that have none, as of experiments."""


def all_but(*names: str) -> list[str]:
    """The coordinates except some.

    >>> all_but("method", "recipe", "variant", "seed")
    ['dataset', 'network', 'embedding_dim', 'split', 'fold']
    """
    return [name for name in COORDINATES if name not in names]


PLACED = all_but("recipe", "seed")
"""The coordinates of a printed number."""
EXPERIMENT = all_but("method", "recipe", "variant", "seed")
"""The coordinates of an experiment, within which a tournament ranks methods."""


def one_or_more(kind: Any) -> Any:
    """The type of a list that may be written as its only value."""
    return Annotated[list[kind], BeforeValidator(_listed)]


def model_of_rows(name: str, field: Callable[[str, Any], tuple], *, without=()) -> type[Model]:
    """A model with a field for each coordinate.

    Args:
        field: coordinate and the type of its values -> type and default of the model's field.
        without: coordinates that it lacks.
    """
    known = {each: field(each, _FIELDS[each].type) for each in all_but(*without)}
    return create_model(name, __base__=Model, **known)


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]
