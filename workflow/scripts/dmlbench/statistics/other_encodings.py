"""Differences between runs of which some have the same images in another encoding.

How far an encoding moves scores is measured over several of them
(`plan.specs.other_encodings`). Which way it moves those of a study is not known, so no score is
corrected: the mean square of the measured shifts is added to the variance of a difference, with as
many degrees of freedom as there are encodings. All runs of another encoding are moved alike, so
that differences between two of them keep their error.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dmlbench.statistics.aggregation import row_of
from dmlbench.statistics.equivalence import Further


class Shift(NamedTuple):
    """What runs in another encoding add to the error of weighted sums of scores.

    Attributes:
        shares: key -> share of its runs that have another encoding, > 0.
        of_run: the error of the score of such a run.
    """

    shares: Mapping[tuple, float]
    of_run: Further

    def of(self, weights: Mapping[tuple, float]) -> Further | None:
        """The further error of a weighted sum of scores (key -> weight); None if it has none."""
        share = abs(sum(weight * self.shares.get(key, 0.0) for key, weight in weights.items()))
        return None if share < _NOTHING else self.of_run._replace(error=share * self.of_run.error)


def shift_of(
    rows: Sequence[Mapping[str, Any]], by: Sequence[str], metric: str, **setting: object
) -> Shift | None:
    """The shift of a metric in rows of one setting; None if no run there has another encoding.

    Args:
        rows: as views have them, with `shifts` (metric -> error in percentage points, freedom)
            where a run has another encoding.
        by: the columns of a key.
        metric: of the scores; a shift that is not measured has an unknown error (NaN).
        setting: column -> value of the rows that count.
    """
    if not any("shifts" in row for row in rows):
        return None
    runs, of_run = defaultdict(list), None
    for row in rows:
        columns = row_of(row)._asdict()
        if all(columns[column] == value for column, value in setting.items()):
            runs[tuple(columns[column] for column in by)].append("shifts" in row)
            if "shifts" in row:
                of_run = Further(*row["shifts"].get(metric, (np.nan, np.inf)))
    shares = {key: float(np.mean(moved)) for key, moved in runs.items() if any(moved)}
    return of_run and Shift(shares, of_run)


_NOTHING = 1e-9
"""A share that is nothing but floating-point noise."""
