"""Published runs that were trained again: each score next to the published one."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from dmlbench.errors import UserError
from dmlbench.statistics.aggregation import FILE, ROW, read_scores

EQUAL, NOISE, DIFFERENT = "equal", "within the noise of seeds", "different"
VERDICTS = (EQUAL, NOISE, DIFFERENT)
"""Equal to the last bit; as near as two seeds are in 95 of 100 cases; neither."""

_TWO_SEEDS = 1.959963984540054 * math.sqrt(2)
"""95 % of the differences of two normal numbers are within so many of their deviations."""

SETTING = ["dataset", "network", "embedding_dim", "metric"]
_SCORE = ["run", "role", "selection", "metric"]


def compare(
    published: pd.DataFrame, again: pd.DataFrame, noise: Mapping[tuple, float]
) -> pd.DataFrame:
    """The scores of runs that were trained again, next to the published ones.

    Args:
        published, again: long tables; of the published one, the runs of the other count.
        noise: data set, network, size and metric -> the deviation between seeds (`noise_of_seeds`);
            a score without one is equal or different.

    Returns:
        `run`, `role`, `selection`, `metric`, `published`, `again` (fractions), `noise` (missing if
        it is not known) and `verdict`, one of `VERDICTS`; scores that only one of them has are
        left out.

    Raises:
        UserError: they have no score in common.
    """
    sides = [table.drop_duplicates(_SCORE) for table in (published, again)]
    both = sides[0].merge(sides[1][[*_SCORE, "value"]], on=_SCORE, suffixes=("_published", ""))
    if both.empty:
        raise UserError("nothing to compare: no run was scored by a metric that is published")
    settings = both[SETTING].itertuples(index=False, name=None)
    both = both.rename(columns={"value_published": "published", "value": "again"}).assign(
        noise=[noise.get(setting, math.nan) for setting in settings]
    )
    near = (both["again"] - both["published"]).abs() <= _TWO_SEEDS * both["noise"]
    both["verdict"] = near.map({True: NOISE, False: DIFFERENT})
    both.loc[both["again"] == both["published"], "verdict"] = EQUAL
    return both[[*_SCORE, "published", "again", "noise", "verdict"]].sort_values(
        _SCORE, ignore_index=True
    )


def noise_of_seeds(tables: Iterable[pd.DataFrame]) -> dict[tuple, float]:
    """The deviation between seeds (n-1, pooled over rows), by `SETTING`.

    Args:
        tables: long tables; only rows with several seeds count, and test images.
    """
    counted = []
    for scores in tables:
        test = scores[scores["role"] == "test"]
        alike = [column for column in ROW if column != "seed"] + ["selection", "metric"]
        seeds = test.groupby(alike, sort=False)["value"].agg(["var", "size"]).reset_index()
        counted.append(seeds[seeds["size"] > 1])
    if not counted:
        return {}
    rows = pd.concat(counted, ignore_index=True)
    rows = rows.assign(freedom=rows["size"] - 1, sum=rows["var"] * (rows["size"] - 1))
    pooled = rows.groupby(SETTING)[["sum", "freedom"]].sum()
    return dict((pooled["sum"] / pooled["freedom"]).pow(0.5).items())


def read_noise(published: Path, datasets: Iterable[str]) -> dict[tuple, float]:
    """`noise_of_seeds` of all published studies that are on some data sets."""
    tables = map(read_scores, sorted(published.glob(f"*/{FILE}")))
    wanted = set(datasets)
    return noise_of_seeds(table[table["dataset"].isin(wanted)] for table in tables)


def by_run(compared: pd.DataFrame) -> pd.DataFrame:
    """For each run: the number of its scores with each verdict, and its largest difference.

    Returns:
        A frame indexed by run: `VERDICTS`, and `largest` in percentage points.
    """
    counts = pd.crosstab(compared["run"], compared["verdict"]).reindex(
        columns=list(VERDICTS), fill_value=0
    )
    difference = 100 * (compared["again"] - compared["published"]).abs()
    return counts.assign(largest=difference.groupby(compared["run"]).max())
