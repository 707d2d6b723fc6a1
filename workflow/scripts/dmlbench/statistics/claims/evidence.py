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
from dmlbench.plan import mapping as places
from dmlbench.plan.claims import Cell, StandIn
from dmlbench.statistics.equivalence import Difference, of_pairs, of_runs, variance_ratio
from dmlbench.statistics.margins import with_margins
from dmlbench.statistics.placement import KEY, place
from dmlbench.statistics.printed import read_printed_files

Weights = Mapping[Cell, float]
"""Cell -> its weight in a sum."""

_LAST = "last_epoch"


class Evidence(Protocol):
    """Numbers at cells, in the unit of their metrics (percent).

    Attributes:
        unit: what differs between the repeats of a number: `seed` or `split`.
    """

    unit: str

    def key(self, cell: Cell) -> tuple | None:
        """What tells the cell from others here; None for a cell that cannot be here."""

    def value(self, cell: Cell) -> float | None:
        """The number of a cell; None if it is not here."""

    def estimates(self, parts: Sequence[Weights]) -> list[Difference]:
        """Weighted sums of cells, each of which is here, that are tested together."""

    def estimate(self, weights: Weights) -> Difference:
        """One such sum alone."""

    def repeats(self, cell: Cell) -> int:
        """How many repeats the number of a cell is the mean of; 0 if that is unknown."""

    def deviation(self, weights: Weights) -> float:
        """The standard deviation of the sum from repeat to repeat; missing if it is unknown."""


class Printed:
    """The printed numbers of a document, with the noise of margins.csv.

    Args:
        folder: of the document: tables, mapping.yaml, margins.yaml and margins.csv.
    """

    unit = "seed"

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

    def estimates(self, parts: Sequence[Weights]) -> list[Difference]:
        return [self.estimate(weights) for weights in parts]

    def estimate(self, weights: Weights) -> Difference:
        """The errors of cells are independent; they are estimated together, so have one freedom."""
        value = sum(weight * self._number[cell] for cell, weight in weights.items())
        error = sum((weight * self._error[cell]) ** 2 for cell, weight in weights.items()) ** 0.5
        freedom = min((self._freedom[cell] for cell in weights), default=np.inf)
        return Difference(float(value), float(error), np.inf if error == 0 else freedom)

    def repeats(self, cell: Cell) -> int:
        return 0

    def deviation(self, weights: Weights) -> float:
        return np.nan


class Scores:
    """Scores by seed, or by split of the classes.

    Where all cells of a sum have the same ones, `equivalence.of_runs` decides if what is added and
    what is subtracted are compared as pairs.

    Args:
        of_repeats: key -> seed or split -> score, in the unit of its metric.
        key: as `Evidence.key`.
        unit: as `Evidence.unit`.
    """

    def __init__(
        self,
        of_repeats: Mapping[tuple, Mapping[Any, float]],
        key: Callable[[Cell], tuple | None],
        unit: str,
    ):
        self.of_repeats, self.unit = of_repeats, unit
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
        super().__init__(_by_unit(scores, KEY, "seed"), self._key, "seed")
        self.data = sorted(scores["dataset"].unique())

    def _key(self, cell: Cell) -> tuple | None:
        placed = _placed(cell, self.mapping)
        return placed and tuple(getattr(placed, column) for column in KEY)


class Elsewhere(Scores):
    """Scores of a stand-in: the methods of a document on other data.

    Args:
        scores: the long table of the stand-in. Those of the last epoch are used, which no test
            label chose.
        mapping: of the document.
        stand_in: its rows, and what its variants and methods are called. Where they have several
            splits of the classes, a split takes the place of a seed: its number is the mean over
            its seeds. Where they have one embedding size, it stands for all printed ones, otherwise
            each for itself.

    Raises:
        UserError: its rows have several data sets or networks, or several sizes that its `where`
            does not name.
    """

    def __init__(self, scores: pd.DataFrame, mapping: places.Mapping, stand_in: StandIn):
        last = scores[scores["selection"].isin([_LAST, "none"])]
        for column, values in stand_in.where.wanted:
            last = last[last[column].isin(values)]
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
        columns = ["method", "variant", "embedding_dim", "role", "metric"]
        unit = "split" if last["split"].nunique() > 1 else "seed"
        super().__init__(_by_unit(last, columns, unit), self._key, unit)
        self.data = sorted(last["dataset"].unique())

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


def _by_unit(scores: pd.DataFrame, by: list[str], unit: str) -> dict[tuple, dict[Any, float]]:
    """Values of the columns `by`, of which a metric is the last -> seed or split -> score."""
    means = scores.groupby([*by, unit], sort=False, dropna=False)["value"].mean()
    of_units: dict[tuple, dict[Any, float]] = {}
    for (*key, each), value in means.items():
        of_units.setdefault(tuple(key), {})[each] = value * quantity(key[-1]).factor
    return of_units
