"""How much of an order of losses is of the losses, and how well one order predicts another.

The losses' scores on several networks, data sets and splits of the classes are compared run by run:
a run is all losses on one network, data set and split. How two runs vary together over the losses
depends on what they have in common, which gives the shares of variance (as a balanced analysis of
variance does) and, as correlations, how well one order predicts another.

Intervals are of a bootstrap over losses, which are drawn with all of their scores: they are for
other losses like these, on these networks, data sets and classes. What other networks or data sets
would change is in them only as far as any two networks, and any two data sets, differ alike.

Source: L. J. Cronbach, G. C. Gleser, H. Nanda and N. Rajaratnam, The Dependability of Behavioral
Measurements, 1972 (components and generalizability); T. C. Hesterberg, What Teachers Should Know
About the Bootstrap, The American Statistician 69, 2015 (the interval).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from dmlbench.errors import UserError
from dmlbench.plan.catalogs.rows import all_but
from dmlbench.statistics.correlation import centered, expanded_interval
from dmlbench.statistics.summary import check_one

RUN = ["network", "dataset", "split"]

ITSELF, CELL, CLASSES = "itself", "cell", "classes"
DATASET, NETWORK, NEITHER = "dataset", "network", "neither"
"""What two runs have in common: everything; network and data set; data set and split; the data set
alone; the network alone; neither network nor data set."""

LOSS, WITH_NETWORK, WITH_DATASET = "loss", "with_network", "with_dataset"
WITH_BOTH, WITH_CLASSES, REST = "with_both", "with_classes", "rest"
"""Sources of variance: the loss, and its interactions with the network, with the data set, with
both together and with the split of the classes, on all networks alike; the rest is what one run
has alone, as by its search and seed."""

INTERACTIONS, AHEAD = "interactions", "ahead"
"""The interactions with network, data set and both together, and the loss less these."""

_SOURCES = {
    LOSS: {NEITHER: 1},
    WITH_NETWORK: {NETWORK: 1, NEITHER: -1},
    WITH_DATASET: {DATASET: 1, NEITHER: -1},
    WITH_BOTH: {CELL: 1, DATASET: -1, NETWORK: -1, NEITHER: 1},
    WITH_CLASSES: {CLASSES: 1, DATASET: -1},
    REST: {ITSELF: 1, CELL: -1, CLASSES: -1, DATASET: 1},
    INTERACTIONS: {CELL: 1, NEITHER: -1},
    AHEAD: {NEITHER: 2, CELL: -1},
}
"""Source -> by which covariances its variance is a sum."""

FEWEST = 3
"""Losses below which nothing is said of other losses."""

_DRAWS, _TOGETHER = 10_000, 200


class Estimate(NamedTuple):
    """A number with its 95 % interval, and how many methods or pairs it is from."""

    value: float
    low: float
    high: float
    number: int


class Share(NamedTuple):
    """A share of the variance.

    Attributes:
        share: of the total variance: 1 for all of it. The estimate is unbiased, so below 0 by
            chance if there is none.
        low, high: its 95 % interval over losses.
        deviation: the corresponding standard deviation, in the unit of the scores; 0 for a share
            below 0.
    """

    share: float
    low: float
    high: float
    deviation: float


class Agreement(NamedTuple):
    """How well runs that have something in common order the losses alike, means over pairs of runs.

    Attributes:
        pearson, spearman: the correlation of their scores, and of their ranks.
        below: how far the correlation of their scores is below that of two runs of one cell.
        lowest, highest: the correlation of the scores of the pairs that agree least and most.
    """

    pearson: Estimate
    spearman: Estimate
    below: Estimate
    lowest: float
    highest: float


def by_run(scores: pd.DataFrame) -> pd.DataFrame:
    """The scores of losses (rows) by run (columns with the levels of `RUN`), means over seeds.

    Args:
        scores: the long table of scores of one metric, role and selection rule.

    Raises:
        UserError: fewer than `FEWEST` losses; a loss lacks a run that others have, or has several
            variants, recipes, sizes or folds in it.
    """
    for place, rows in scores.groupby([*RUN, "method"], sort=False):
        alike = [column for column in all_but(*RUN, "method", "seed") if column in rows]
        check_one(rows, alike, f"{'/'.join(place)} has")
    columns = [scores[level] for level in RUN]
    table = scores.pivot_table("value", "method", columns, aggfunc="mean", sort=False)
    for run in table:
        for method in table.index[table[run].isna()]:
            raise UserError(f"{'/'.join(run)} has no score of {method}; every loss needs one")
    if len(table) < FEWEST:
        raise UserError(f"{len(table)} losses; allowed: {FEWEST} or more")
    return table


def shares(table: pd.DataFrame, *, scaled: bool) -> dict[str, Share]:
    """The share of each source in the variance of scores between losses, after the means of runs.

    A source's variance is a sum of mean covariances of runs, which with all combinations is what
    the mean squares of a balanced analysis of variance with random effects give.

    Args:
        table: as `by_run` gives it.
        scaled: whether each run is first divided by its standard deviation over the losses, so that
            runs in which losses are further apart do not count more.

    Returns:
        The sources, whose shares add up to 1, `INTERACTIONS` and `AHEAD`.

    Raises:
        UserError: fewer than two networks, two data sets or two splits of one cell.
    """
    masks = relations(table.columns)
    lacking = [relation for relation, mask in masks.items() if not mask.any()]
    if lacking:
        counts = [table.columns.get_level_values(level).nunique() for level in RUN[:2]]
        raise UserError(
            f"shares of an order: {counts[0]} networks, {counts[1]} data sets, and "
            f"{_splits(table)} splits in each; allowed: at least 2 of each"
        )
    weights = np.array([[sums.get(each, 0) for each in masks] for sums in _SOURCES.values()])
    measure = correlations if scaled else covariances

    def variances(values: np.ndarray) -> np.ndarray:
        return mean_of(measure(values), masks) @ weights.T

    def relative(values: np.ndarray) -> np.ndarray:
        parts = variances(values)
        total = parts[..., : len(_SOURCES) - 2].sum(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore"):  # a draw of one loss alone has no variance
            return parts / total

    deviations = np.sqrt(np.maximum(variances(values_of(table)), 0))
    estimates = over_losses(table, relative)
    return {
        source: Share(*estimate, float(deviation))
        for source, estimate, deviation in zip(_SOURCES, estimates, deviations, strict=True)
    }


def agreements(table: pd.DataFrame) -> dict[str, Agreement]:
    """How alike runs order the losses, by what they have in common, where there are such runs.

    Args:
        table: as `by_run` gives it, or `order_means.by_cell`.
    """
    masks = relations(table.columns)
    masks = {relation: mask for relation, mask in masks.items() if mask.any()}
    names = list(masks)

    def pearson(values: np.ndarray) -> np.ndarray:
        return mean_of(correlations(values), masks)

    def spearman(values: np.ndarray) -> np.ndarray:
        return pearson(rankdata(values, axis=-1))

    def below(values: np.ndarray) -> np.ndarray:
        found = pearson(values)
        ceiling = found[..., [names.index(CELL)]] if CELL in masks else np.nan
        return ceiling - found

    estimates = [over_losses(table, each) for each in (pearson, spearman, below)]
    of_pairs = correlations(values_of(table))
    found = {}
    for relation, *three in zip(names, *estimates, strict=True):
        pairs = np.triu(masks[relation])
        numbered = [Estimate(*each, int(pairs.sum())) for each in three]
        ends = of_pairs[pairs].min(), of_pairs[pairs].max()
        found[relation] = Agreement(*numbered, *map(float, ends))
    return {relation: each for relation, each in found.items() if relation != ITSELF}


def relations(runs: pd.MultiIndex) -> dict[str, np.ndarray]:
    """What each two runs have in common: bool [R, R], each pair under one name."""
    codes = [pd.factorize(runs.get_level_values(level))[0] for level in RUN]
    network, dataset, split = (np.equal.outer(code, code) for code in codes)
    return {
        ITSELF: network & dataset & split,
        CELL: network & dataset & ~split,
        CLASSES: ~network & dataset & split,
        DATASET: ~network & dataset & ~split,
        NETWORK: network & ~dataset,
        NEITHER: ~network & ~dataset,
    }


def _splits(table: pd.DataFrame) -> int:
    """The fewest splits of a network and data set."""
    runs = table.columns.to_frame(index=False)
    return int(runs.groupby(RUN[:2]).size().min())


def values_of(table: pd.DataFrame) -> np.ndarray:
    """A table's values, [runs, losses]."""
    return table.T.to_numpy(float)


def covariances(values: np.ndarray) -> np.ndarray:
    """Between runs, [..., R, R], of values [..., R, losses]."""
    off = centered(values)
    return off @ np.swapaxes(off, -1, -2) / (values.shape[-1] - 1)


def correlations(values: np.ndarray) -> np.ndarray:
    """The same as correlations; NaN where all losses are equal."""
    off = centered(values)
    scale = np.sqrt((off * off).sum(axis=-1, keepdims=True))
    scaled = np.divide(off, scale, where=scale > 0, out=np.full(off.shape, np.nan))
    return scaled @ np.swapaxes(scaled, -1, -2)


def mean_of(matrices: np.ndarray, masks: Mapping[str, np.ndarray]) -> np.ndarray:
    """Means over the pairs of each relation, [..., relations], of matrices [..., R, R]."""
    return np.stack([matrices[..., mask].mean(axis=-1) for mask in masks.values()], axis=-1)


def over_losses(
    table: pd.DataFrame, statistic: Callable[[np.ndarray], np.ndarray]
) -> Iterator[tuple[float, float, float]]:
    """Each of some statistics of values [..., R, losses], with its interval over losses."""
    values = values_of(table.sort_index())
    losses = values.shape[-1]
    drawn = np.random.default_rng(0).integers(0, losses, (_DRAWS, losses))
    parts = [
        statistic(np.moveaxis(values[:, some], 0, 1))
        for some in np.split(drawn, _DRAWS // _TOGETHER)
    ]
    draws = np.concatenate(parts)
    ends = expanded_interval(draws[np.isfinite(draws).all(axis=-1)], losses)
    return zip(statistic(values).tolist(), *ends.tolist(), strict=True)
