"""The filter of rows that studies, recipes and variants use."""

import functools

from dmlbench.plan.catalogs.rows import Fold, model_of_rows, one_or_more

_Filter = model_of_rows("_Filter", lambda name, kind: (one_or_more(kind) | None, None))


class Where(_Filter):
    """A filter of rows: for every given coordinate, the row's value is one of those listed.

    Attributes:
        variant: names of variants (`base` for none), or of axes, for all of their values.
    """

    fold: one_or_more(Fold) | None = None

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
        return all(getattr(row, key) in values for key, values in self.wanted) and (
            self.variant is None or has_variant(row.variant, self.variant)
        )


def has_variant(variant: str, wanted: list[str]) -> bool:
    """Whether a row's variant is listed: by its name, as a value of its axes, or as `base`."""
    return (variant or "base") in wanted or _axes(variant) in wanted


@functools.cache
def _axes(variant: str) -> str:
    return ",".join(part.partition("=")[0] for part in variant.split(","))
