"""Orders of losses that are averaged over networks and data sets, and what they tell of others.

A cell is a network on a data set, and its scores are means over its splits of the classes.

Source: R. L. Brennan, Generalizability Theory, 2001 (means over crossed conditions); C. Nadeau and
Y. Bengio, as in `statistics.other_classes`.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from dmlbench.errors import UserError
from dmlbench.statistics.equivalence import ALPHA, Difference, half_interval, p_value_of
from dmlbench.statistics.generalizability import (
    CLASSES,
    ITSELF,
    NEITHER,
    NETWORK,
    RUN,
    Estimate,
    correlations,
    covariances,
    mean_of,
    over_losses,
    relations,
    values_of,
)
from dmlbench.statistics.other_classes import Prior, of_splits
from dmlbench.statistics.paired import holm


def by_cell(table: pd.DataFrame) -> pd.DataFrame:
    """The mean over the splits of each network and data set, with one split of an empty name."""
    means = table.T.groupby(level=RUN[:2], sort=False).mean().T
    means.columns = pd.MultiIndex.from_tuples([(*cell, "") for cell in means], names=RUN)
    return means


def averaged(
    table: pd.DataFrame, designs: Sequence[Sequence[int]]
) -> list[tuple[Estimate, Estimate]]:
    """How well the mean over several networks and data sets predicts an order elsewhere.

    Scores of each cell are divided by their standard deviation over the losses, and averaged over
    every network on every data set.

    Args:
        table: as `by_run` gives it.
        designs: numbers of networks and of data sets.

    Returns:
        for each design the correlation of the mean with one more cell, of another network and data
        set, and with the losses' own order, the mean over all networks and data sets that there
        could be; 0 if cells without anything in common do not correlate.

    Raises:
        UserError: fewer than two networks or two data sets.
    """
    of_cells = by_cell(table)
    masks = _crossed(of_cells.columns)

    def predicted(values: np.ndarray) -> np.ndarray:
        _, data, network, neither = np.moveaxis(mean_of(correlations(values), masks), -1, 0)
        neither, found = np.maximum(neither, 0), []
        for networks, datasets in designs:
            both = (networks - 1) * (datasets - 1) * neither
            total = 1 + (networks - 1) * data + (datasets - 1) * network + both
            # Means vary at least as the losses' own order does.
            variance = np.maximum(total / (networks * datasets), neither)
            own = np.sqrt(neither / np.where(neither > 0, variance, 1))
            found += [own * np.sqrt(neither), own]
        return np.stack(found, axis=-1)

    number = len(of_cells.columns)
    found = [Estimate(*each, number) for each in over_losses(of_cells, predicted)]
    return list(zip(found[::2], found[1::2], strict=True))


def lengthened(correlation: float, times: int) -> float:
    """The correlation of means of so many runs each, from that of single runs.

    Source: W. Brown, and C. Spearman, British Journal of Psychology 3, 1910.
    """
    return times * correlation / (1 + (times - 1) * correlation)


def in_cells(table: pd.DataFrame) -> pd.DataFrame:
    """How far each loss is from the mean of all losses, cell by cell, for other classes.

    The error is that of splits of the same classes (`other_classes.of_splits`), with one variance
    for all losses of a cell.

    Args:
        table: as `generalizability.by_run` gives it.

    Returns:
        network, dataset, method, `value` and `half`, half of the 95 % interval, in the unit of the
        scores; `half` is missing for one split.
    """
    rows = []
    for cell, runs in (table - table.mean()).T.groupby(level=RUN[:2], sort=False):
        splits, losses = runs.shape
        left = runs - runs.mean()
        freedom = (losses - 1) * (splits - 1)
        # Of the losses' deviations from their mean, which leave one degree of freedom less.
        variance = float((left**2).to_numpy().sum()) / max(splits - 1, 1) / losses
        prior = Prior(variance, np.inf, freedom)
        for method in runs:
            found = of_splits(runs[method], prior=prior)
            rows.append((*cell, method, found.value, float(half_interval(found))))
    return pd.DataFrame(rows, columns=[*RUN[:2], "method", "value", "half"])


def over_cells(table: pd.DataFrame) -> pd.DataFrame:
    """How far each loss is from the mean of all losses, for other networks, data sets and classes.

    Losses, networks and data sets are crossed random effects. The variance of a mean over cells is
    a sum of their mean squares, or its largest part where estimates below 0 make it smaller; its
    degrees of freedom are those of the factor with fewer levels, so that it is rather too wide.

    Args:
        table: as `generalizability.by_run` gives it, of all networks on all data sets.

    Returns:
        one row per method: `value`, `low` and `high`, its 95 % interval, in the unit of the scores;
        `above` and `below`, from how many other losses it is shown to differ in this direction
        (Student's t, Holm's correction for all pairs).

    Raises:
        UserError: fewer than two networks or two data sets.
    """
    of_cells = by_cell(table)
    masks = _crossed(of_cells.columns)
    networks, datasets = (of_cells.columns.get_level_values(level).nunique() for level in RUN[:2])
    itself, data, network, neither = mean_of(covariances(values_of(of_cells)), masks)
    together = (itself - data - network + neither) / (networks * datasets)
    parts = (network - neither) / networks, (data - neither) / datasets
    variance = together + max(sum(parts), *parts)
    losses, freedom = len(table), (len(table) - 1) * (min(networks, datasets) - 1)
    values = (of_cells - of_cells.mean()).mean(axis=1)
    error = float(np.sqrt(max(variance, 0)))
    half = half_interval(Difference(0.0, error * (1 - 1 / losses) ** 0.5, freedom))
    apart = _apart(values, Difference(0.0, error * 2**0.5, freedom))
    return pd.DataFrame(
        {
            "value": values,
            "low": values - half,
            "high": values + half,
            "above": [sum(pair[0] == method for pair in apart) for method in values.index],
            "below": [sum(pair[1] == method for pair in apart) for method in values.index],
        }
    )


def _apart(values: pd.Series, error: Difference) -> list[tuple[str, str]]:
    """The pairs of methods that are shown to differ, the one with the higher value first."""
    pairs = [sorted(pair, key=values.get, reverse=True) for pair in combinations(values.index, 2)]
    p_values = [
        p_value_of(error._replace(value=values[one] - values[other])) for one, other in pairs
    ]
    sure = holm(pd.Series(p_values)) < ALPHA
    return [tuple(pair) for pair, shown in zip(pairs, sure, strict=True) if shown]


def _crossed(of_cells: pd.MultiIndex) -> dict[str, np.ndarray]:
    """The relations of cells, if every network is on every data set."""
    masks = relations(of_cells)
    masks = {relation: masks[relation] for relation in (ITSELF, CLASSES, NETWORK, NEITHER)}
    networks, datasets = (of_cells.get_level_values(level).nunique() for level in RUN[:2])
    if min(networks, datasets) < 2 or len(of_cells) < networks * datasets:
        raise UserError(
            f"orders over cells: {len(of_cells)} cells of {networks} networks and {datasets} data "
            "sets; allowed: 2 or more of each, every network on every data set"
        )
    return masks
