"""What a claim is judged by: printed numbers, or our scores at their places.

Both answer the same two questions: the value of a cell, and the estimate of a weighted sum of cells
with its standard error.
"""

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from dmlbench.errors import UserError
from dmlbench.evaluation.names import quantity
from dmlbench.plan.studies import mapping as places
from dmlbench.plan.studies.claims import Cell, StandIn
from dmlbench.statistics.claims.decisions import NOISE
from dmlbench.statistics.equivalence import Difference, of_pairs, of_runs, variance_ratio
from dmlbench.statistics.margins import with_margins
from dmlbench.statistics.other_classes import SEED
from dmlbench.statistics.over_splits import OverSplits
from dmlbench.statistics.placement import KEY, place
from dmlbench.statistics.printed import read_printed_files
from dmlbench.statistics.summary import in_units

Weights = Mapping[Cell, float]
"""Cell -> its weight in a sum."""

_LAST = "last_epoch"
_BY = ["method", "variant", "embedding_dim", "role", "metric"]


def by_key(weights: Weights, key: Callable[[Cell], tuple | None]) -> dict[tuple | None, float]:
    """What each number of the evidence is multiplied by, without those that cancel."""
    own: dict[tuple | None, float] = {}
    for cell, weight in weights.items():
        own[key(cell)] = own.get(key(cell), 0.0) + weight
    return {known: weight for known, weight in own.items() if abs(weight) > NOISE}


class Evidence(Protocol):
    """Numbers at cells, in the unit of their metrics (percent)."""

    def unit(self, weights: Weights) -> str:
        """What repeats behind the error of a sum: `other_classes.SEED`, `SPLIT` or `CLASS`."""
        return SEED

    def key(self, cell: Cell) -> tuple | None:
        """What tells the cell from others here; None for a cell that cannot be here."""

    def value(self, cell: Cell) -> float | None:
        """The number of a cell; None if it is not here."""

    def estimates(self, parts: Sequence[Weights]) -> list[Difference]:
        """Weighted sums of cells, each of which is here, that are tested together."""
        return [self.estimate(weights) for weights in parts]

    def estimate(self, weights: Weights) -> Difference:
        """One such sum alone."""

    def repeats(self, cell: Cell) -> int:
        """How many repeats the number of a cell is the mean of; 0 if that is unknown."""
        return 0

    def deviation(self, weights: Weights) -> float:
        """The standard deviation of the sum from repeat to repeat; missing if it is unknown."""
        return np.nan


class Printed(Evidence):
    """The printed numbers of a document, with the noise of margins.csv.

    Args:
        folder: of the document: tables, mapping.yaml, margins.yaml and margins.csv.
    """

    def __init__(self, folder: Path):
        printed = read_printed_files(sorted(folder.glob("table_*.csv")))
        placed = with_margins(place(printed, places.read_mapping(folder)), folder)
        self.cells = [Cell(**places.cell_of(line)) for line in printed.to_dict("records")]
        self._number = dict(zip(self.cells, placed["number"], strict=True))
        rounding = 10.0 ** (-2 * placed["decimals"].astype(float)) / 12
        error = np.sqrt(placed["printed_error"].astype(float) ** 2 + rounding)
        self._error = dict(zip(self.cells, error, strict=True))
        self._freedom = dict(zip(self.cells, placed["freedom"].astype(float), strict=True))

    def exact(self) -> "Printed":
        """The numbers as they are, without noise."""
        noiseless = copy.copy(self)
        noiseless._error = dict.fromkeys(self.cells, 0.0)
        return noiseless

    def key(self, cell: Cell) -> tuple | None:
        return cell

    def value(self, cell: Cell) -> float | None:
        return self._number.get(cell)

    def estimate(self, weights: Weights) -> Difference:
        """The errors of cells are independent; they are estimated together, so have one freedom."""
        value = sum(weight * self._number[cell] for cell, weight in weights.items())
        error = sum((weight * self._error[cell]) ** 2 for cell, weight in weights.items()) ** 0.5
        freedom = min((self._freedom[cell] for cell in weights), default=np.inf)
        return Difference(float(value), float(error), np.inf if error == 0 else freedom)


class Scores(Evidence):
    """Scores by seed, on one split of the classes.

    Where all cells of a sum have the same seeds, `equivalence.of_runs` decides if what is added and
    what is subtracted are compared as pairs.

    Args:
        of_repeats: key -> seed -> score, in the unit of its metric.
        key: as `Evidence.key`.
    """

    def __init__(
        self,
        of_repeats: Mapping[tuple, Mapping[Any, float]],
        key: Callable[[Cell], tuple | None],
    ):
        self.of_repeats = of_repeats
        # Each comparison of each claim asks again.
        self.key = functools.cache(key)

    def value(self, cell: Cell) -> float | None:
        scores = self.of_repeats.get(self.key(cell))
        return float(np.mean(list(scores.values()))) if scores else None

    def estimates(self, parts: Sequence[Weights]) -> list[Difference]:
        sides = [self._sides(weights) for weights in parts]
        ratio = variance_ratio(both for both in sides if both)
        return [
            of_runs(*both, ratio=ratio) if both else self._of_cells(weights)
            for both, weights in zip(sides, parts, strict=True)
        ]

    def estimate(self, weights: Weights) -> Difference:
        return self.estimates([weights])[0]

    def repeats(self, cell: Cell) -> int:
        return len(self.of_repeats.get(self.key(cell), ()))

    def deviation(self, weights: Weights) -> float:
        both = self._sides(weights)
        error = (of_pairs(*both) if both else self._of_cells(weights)).error
        return error * min(map(self.repeats, weights)) ** 0.5 if weights else np.nan

    def _sides(self, weights: Weights) -> tuple[np.ndarray, np.ndarray] | None:
        """What is added and what is subtracted, repeat by repeat; None if these differ."""
        samples = [(weight, self.of_repeats[self.key(cell)]) for cell, weight in weights.items()]
        repeats = {tuple(sorted(scores)) for weight, scores in samples if weight}
        if len(repeats) != 1:
            return None
        sides = np.zeros((2, len(first := min(repeats))))
        for weight, scores in samples:
            if weight:
                sides[int(weight < 0)] += abs(weight) * np.array([scores[each] for each in first])
        return sides[0], sides[1]

    def _of_cells(self, weights: Weights) -> Difference:
        """A sum of independent cells."""
        value = float(sum(weight * self.value(cell) for cell, weight in weights.items()))
        samples = [
            (weight, list(self.of_repeats[self.key(cell)].values()))
            for cell, weight in weights.items()
            if weight
        ]
        if any(len(scores) < 2 for _, scores in samples):
            return Difference(value, np.nan, np.nan)
        parts = [
            (weight**2 * np.var(scores, ddof=1) / len(scores), len(scores) - 1)
            for weight, scores in samples
        ]
        total = sum(part for part, _ in parts)
        spread = sum(part**2 / degrees for part, degrees in parts)
        return Difference(value, float(total**0.5), float(total**2 / spread) if spread else np.inf)


class Ours(Scores):
    """Our scores at the places of printed numbers.

    Args:
        scores: the long table, of one selection rule and recipe; as `placement.find` gives it.
        mapping: of the document.
    """

    def __init__(self, scores: pd.DataFrame, mapping: places.Mapping):
        self.mapping = mapping
        super().__init__(_by_repeat(scores, KEY, "seed"), self._key)
        self.data = sorted(scores["dataset"].unique())

    def _key(self, cell: Cell) -> tuple | None:
        placed = _placed(cell, self.mapping)
        return placed and tuple(getattr(placed, column) for column in KEY)


class Elsewhere(Scores):
    """Scores of a stand-in: the methods of a document on other data.

    With several splits of the classes, a split takes the place of a seed (its number is the mean
    over its seeds), and differences are estimated for other classes: by the scores of each class
    where these are known, and otherwise by one score for each split (`statistics.other_classes`).

    Args:
        scores: the long table of the stand-in. Those of the last epoch are used, which no test
            label chose.
        mapping: of the document.
        stand_in: its rows, and what its variants and methods are called. Where they have one
            embedding size, it stands for all printed ones, otherwise each for itself.
        classes: the scores of each class, as `statistics.classes` has them; None if unknown.

    Raises:
        UserError: its rows have several data sets or networks, or several sizes that its `where`
            does not name.
    """

    def __init__(
        self,
        scores: pd.DataFrame,
        mapping: places.Mapping,
        stand_in: StandIn,
        classes: pd.DataFrame | None = None,
    ):
        last = _last(scores, stand_in)
        sizes_are_named = any(column == "embedding_dim" for column, _ in stand_in.where.wanted)
        for column in ("dataset", "network", *(() if sizes_are_named else ("embedding_dim",))):
            if last[column].nunique() > 1:
                raise UserError(
                    f"claims.yaml: stand-in {stand_in.name}: fits rows with several values of "
                    f"{column}; allowed: one, by `where`"
                )
        self.mapping, self.stand_in = mapping, stand_in
        sizes = last["embedding_dim"].unique()
        self.only_size = sizes[0] if len(sizes) == 1 else None
        self.has_splits = last["split"].nunique() > 1
        super().__init__(_by_repeat(last, _BY, "split" if self.has_splits else "seed"), self._key)
        own = None if classes is None else in_units(_last(classes, stand_in).assign(role="test"))
        self.over_splits = OverSplits(in_units(last), _BY, own, alike=_BY[2:])
        self.data = sorted(last["dataset"].unique())

    def unit(self, weights: Weights) -> str:
        return self.over_splits.unit(by_key(weights, self.key)) if self.has_splits else SEED

    def estimates(self, parts: Sequence[Weights]) -> list[Difference]:
        if not self.has_splits:
            return super().estimates(parts)
        return [self.over_splits.difference(by_key(weights, self.key)) for weights in parts]

    def deviation(self, weights: Weights) -> float:
        """Missing over splits: more of them on the same classes decide little."""
        return np.nan if self.has_splits else super().deviation(weights)

    def _key(self, cell: Cell) -> tuple | None:
        placed = _placed(cell, self.mapping)
        if placed is None or placed.variant not in self.stand_in.variants:
            return None
        method = self.stand_in.methods.get(placed.method, placed.method)
        size = self.only_size or placed.embedding_dim
        return method, self.stand_in.variants[placed.variant], size, placed.role, placed.metric


def _placed(cell: Cell, mapping: places.Mapping) -> places.Place | None:
    """The place of a cell among our scores; None if it has none."""
    columns = cell._asdict()
    return None if mapping.why_unplaced(columns) else mapping.place(columns)


def _last(scores: pd.DataFrame, stand_in: StandIn) -> pd.DataFrame:
    """The stand-in's rows in the last epoch."""
    last = scores[scores["selection"].isin([_LAST, "none"])]
    for column, values in stand_in.where.wanted:
        last = last[last[column].isin(values)]
    return last


def _by_repeat(scores: pd.DataFrame, by: list[str], repeat: str) -> dict[tuple, dict[Any, float]]:
    """Values of the columns `by`, of which a metric is the last -> seed or split -> score."""
    means = scores.groupby([*by, repeat], sort=False, dropna=False)["value"].mean()
    of_repeats: dict[tuple, dict[Any, float]] = {}
    for (*key, each), value in means.items():
        of_repeats.setdefault(tuple(key), {})[each] = value * quantity(key[-1]).factor
    return of_repeats
