"""The filter of rows that studies, recipes and variants use."""

import functools
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, NonNegativeInt, PositiveInt

from dmlbench.plan.choices import Identifier, Model, SplitName


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


Names = Annotated[list[Identifier], BeforeValidator(_listed)]
SplitNames = Annotated[list[SplitName], BeforeValidator(_listed)]
VariantNames = Annotated[list[str], BeforeValidator(_listed)]
Sizes = Annotated[list[PositiveInt], BeforeValidator(_listed)]
Numbers = Annotated[list[NonNegativeInt], BeforeValidator(_listed)]

Combined = Literal["concatenated", "separated"]
"""Forms of combined folds: their embeddings as one, or each scored alone and averaged."""
Folds = Annotated[list[NonNegativeInt | Combined], BeforeValidator(_listed)]


class Where(Model):
    """A filter of rows: for every given key, the row's value is one of those listed.

    Attributes:
        variant: names of variants (`base` for none), or of axes, for all of their values.
    """

    dataset: Names | None = None
    network: Names | None = None
    embedding_dim: Sizes | None = None
    method: Names | None = None
    recipe: Names | None = None
    variant: VariantNames | None = None
    split: SplitNames | None = None
    fold: Folds | None = None
    seed: Numbers | None = None

    @functools.cached_property
    def wanted(self) -> list[tuple[str, frozenset]]:
        """The given keys with their values, except variants."""
        return [
            (key, frozenset(values))
            for key, values in self
            if values is not None and key != "variant"
        ]

    def holds(self, row) -> bool:
        """Whether a row matches."""
        if self.variant is not None and not has_variant(row.variant, self.variant):
            return False
        return all(getattr(row, key) in values for key, values in self.wanted)


def has_variant(variant: str, wanted: list[str]) -> bool:
    """Whether a row's variant is listed: by its name, as a value of its axes, or as `base`."""
    axes = ",".join(part.partition("=")[0] for part in variant.split(","))
    return (variant or "base") in wanted or axes in wanted
