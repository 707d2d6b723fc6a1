"""Scores on several splits of one data set's classes, and their differences for other classes."""

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dmlbench.statistics.equivalence import Difference, widened
from dmlbench.statistics.other_classes import (
    CLASS,
    FEWEST_RUNS,
    SPLIT,
    Prior,
    kappa_of,
    of_classes,
    of_splits,
    prior_of,
)
from dmlbench.statistics.other_encodings import Shift


class OverSplits:
    """Scores on several splits of one data set's classes.

    Args:
        scores: a column `split`, those of `by`, and `value`; seeds are averaged first.
        by: the columns that name what is compared, such as the method and its variant.
        classes: the same of each class, with `label` (`statistics.classes`); None if unknown. Used
            with `FEWEST_RUNS` splits or more.
        alike: those of `by` that comparable scores share, such as the metric.
        shift: of the scores of runs whose images have another encoding; None for none.

    What differences have in common is taken from all pairs of what has the same variants, so that a
    difference has the same interval wherever it is shown.
    """

    def __init__(
        self,
        scores: pd.DataFrame,
        by: Sequence[str],
        classes: pd.DataFrame | None = None,
        alike: Sequence[str] = (),
        shift: Shift | None = None,
    ):
        self._shift = shift
        self._shared = [list(by).index(column) for column in alike]
        self._variant = list(by).index("variant") if "variant" in by else None
        means = scores.groupby([*by, "split"], sort=False)["value"].mean()
        self.of_split: dict[tuple, dict[str, float]] = {}
        for (*key, split), value in means.items():
            self.of_split.setdefault(tuple(key), {})[split] = value
        self.splits = sorted(scores["split"].unique())
        self.of_class: dict[tuple, np.ndarray] = {}
        if classes is not None and len(self.splits) >= FEWEST_RUNS:
            self.of_class = _cells(classes, by, self.splits)
        self._prior = functools.cache(self._prior_of)
        self._kappa = functools.cache(self._kappa_of)

    def unit(self, weights: Mapping[tuple, float]) -> str:
        """What repeats behind the error of a sum: `SPLIT` or `CLASS`."""
        return CLASS if set(weights) <= set(self.of_class) else SPLIT

    def difference(self, weights: Mapping[tuple, float]) -> Difference:
        """A weighted sum of scores, for other classes.

        Args:
            weights: key -> its weight; the sum of all is 0, so that easy splits cancel.
        """
        return widened(self._difference(weights), self._shift and self._shift.of(weights))

    def _difference(self, weights: Mapping[tuple, float]) -> Difference:
        if not weights:
            return Difference(0.0, 0.0, np.inf)
        families, variants = self._families(weights), self._variants(weights)
        if self.unit(weights) == CLASS:
            cells = sum(weight * self.of_class[key] for key, weight in weights.items())
            kappa = max(self._kappa(family, variants) for family in families)
            return of_classes(cells, kappa=kappa)
        splits = [
            split for split in self.splits if all(split in self.of_split[key] for key in weights)
        ]
        is_pair = len(families) == 1 and sorted(weights.values()) == [-1, 1]
        return of_splits(
            [
                sum(weight * self.of_split[key][split] for key, weight in weights.items())
                for split in splits
            ],
            prior=self._prior(*families, variants) if is_pair else None,
        )

    def _families(self, keys: Iterable[tuple]) -> set[tuple]:
        return {tuple(key[place] for place in self._shared) for key in keys}

    def _variants(self, keys: Iterable[tuple]) -> frozenset[str]:
        return frozenset(() if self._variant is None else (key[self._variant] for key in keys))

    def _alike(self, known: Mapping[tuple, Any], family: tuple, variants: frozenset[str]) -> list:
        """What is known of a family that has one of these variants."""
        return [
            own
            for key, own in known.items()
            if {family} == self._families([key]) and self._variants([key]) <= variants
        ]

    def _prior_of(self, family: tuple, variants: frozenset[str]) -> Prior | None:
        """Of the differences of two of those that all splits have."""
        alike = self._alike(self.of_split, family, variants)
        whole = [own for own in alike if len(own) == len(self.splits)]
        return prior_of([[own[split] for split in self.splits] for own in whole])

    def _kappa_of(self, family: tuple, variants: frozenset[str]) -> float:
        """Of all pairs."""
        pairs = itertools.combinations(self._alike(self.of_class, family, variants), 2)
        return kappa_of(first - other for first, other in pairs)


def _cells(
    classes: pd.DataFrame, by: Sequence[str], splits: Sequence[str]
) -> dict[tuple, np.ndarray]:
    """Key -> scores [splits, classes], NaN where not tested, of those that all splits have."""
    means = classes.groupby([*by, "split", "label"], sort=False)["value"].mean().reset_index()
    full = pd.MultiIndex.from_product([splits, np.sort(means["label"].unique())])
    found = {}
    for key, own in means.groupby(list(by), sort=False):
        if set(own["split"]) == set(splits):
            values = own.set_index(["split", "label"])["value"].reindex(full).to_numpy()
            found[key] = values.reshape(len(splits), -1)
    return found
