"""Differences between methods or variants, with confidence: for other seeds or other classes."""

import functools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from dmlbench.errors import UserError
from dmlbench.plan.catalogs.rows import all_but
from dmlbench.statistics.aggregation import ROW
from dmlbench.statistics.equivalence import (
    MOST_RUNS,
    Further,
    detectable_difference,
    half_interval,
    of_runs,
    p_value_of,
    pairing_gains,
    variance_ratio,
    widened,
)
from dmlbench.statistics.other_classes import SEED
from dmlbench.statistics.other_encodings import Shift, shift_of
from dmlbench.statistics.over_splits import OverSplits
from dmlbench.statistics.summary import check_one, half_width, in_units

_NOISE = 10
"""Decimals beyond which a difference, in percent or not, is floating-point noise."""

ALL_METHODS = ""
"""The method of rows that are means over several methods."""

COLUMNS = ["dataset", "method", "variant", "metric", "pairs", "reference", "value", "difference"]
COLUMNS += ["low", "high", "p_value", "sign", "holm", "ratio", "unit"]


class Paired(NamedTuple):
    """A difference between runs of equal seeds.

    Attributes:
        mean: of the differences.
        low, high: Student's 95 % interval of the mean; NaN for one pair.
        p_value: of the t test that the mean is 0; NaN for equal differences.
        sign: two-sided p-value of the sign test; pairs without a difference are left out; 1 if no
            pair is left.
        pairs: how many there are.
    """

    mean: float
    low: float
    high: float
    p_value: float
    sign: float
    pairs: int


def paired(differences: Sequence[float]) -> Paired:
    """Summarize one difference per pair, at least one.

    >>> paired([1.0, 2.0, 3.0]).mean
    2.0
    """
    values = np.asarray(differences, dtype=float).round(_NOISE)
    count, mean = len(values), float(values.mean())
    half = p_value = np.nan
    if count > 1:
        # The deviation of equal numbers need not be 0 in floating point.
        std = values.std(ddof=1) if np.ptp(values) else 0.0
        half = half_width(std, count)
        t = abs(mean) * np.sqrt(count) / std if std else np.nan
        p_value = 2 * stats.t.sf(t, count - 1)
    up, down = int((values > 0).sum()), int((values < 0).sum())
    sign = stats.binomtest(up, up + down).pvalue if up + down else 1.0
    return Paired(mean, float(mean - half), float(mean + half), float(p_value), float(sign), count)


def pairs_needed(difference: float, half: float, pairs: int) -> int | None:
    """How many pairs show, by a two-sided t test and with probability `POWER`, a true difference.

    Args:
        difference: the estimated one, taken for the true one.
        half: half of its 95 % interval, from which the deviation of the pairs follows.
        pairs: how many it was estimated from, > 1.

    Returns:
        The smallest such number, at least 2; None if `MOST_RUNS` are too few.
    """
    deviation = half / half_width(1.0, pairs)
    counts = np.arange(2, MOST_RUNS + 1)
    shown = detectable_difference(deviation / np.sqrt(counts), counts - 1) <= abs(difference)
    return int(counts[shown.argmax()]) if shown.any() else None


def compared(
    first: Sequence[float],
    second: Sequence[float],
    *,
    ratio: float,
    further: Further | None = None,
) -> Paired:
    """Runs with equal seeds, as pairs or, where pairing gains nothing, as two samples (Welch).

    Args:
        first, second: one value per seed, [n], in the order of the seeds.
        ratio: the `variance_ratio` of all comparisons that are tested together.
        further: error of the difference that no seed repeats; with one, there is no sign test.
    """
    as_pairs = paired(np.subtract(first, second))
    if as_pairs.pairs < 2 or (pairing_gains(ratio) and further is None):
        return as_pairs
    rounded = np.round(first, _NOISE), np.round(second, _NOISE)
    difference = widened(of_runs(*rounded, ratio=ratio), further)
    half = half_interval(difference)
    low, high = as_pairs.mean - half, as_pairs.mean + half
    sign = as_pairs.sign if further is None else np.nan
    return as_pairs._replace(low=low, high=high, p_value=p_value_of(difference), sign=sign)


def paired_differences(
    scores: pd.DataFrame,
    references: Mapping[str, str],
    *,
    between: Literal["method", "variant"] = "variant",
    classes: pd.DataFrame | None = None,
    rows: Sequence[Mapping[str, Any]] = (),
) -> pd.DataFrame:
    """How much scores exceed those of their references, in trainings that are alike otherwise.

    On one split of the classes, differences are between trainings of one seed, which begin with the
    same weights; where differences vary less than scores for it, pairs are compared, elsewhere two
    samples (`equivalence.pairing_gains`), alike for all comparisons of a data set and metric. They
    hold for other seeds. On several splits they are estimated for other classes
    (`over_splits.OverSplits`).

    A variant with several methods has one more row per data set for their mean, over the seeds or
    splits that all of them have, because trainings of one seed are not independent pairs.

    Args:
        scores: the long table of scores (fractions) of one role and selection rule.
        references: compared value -> reference; values of the column `between`.
        between: the column in which a score and its reference differ.
        classes: the scores of each test class, as `statistics.classes` has them; None if unknown.
        rows: the rows of the scores, for `other_encodings.shift_of`.

    Returns:
        One row per data set, method, variant and metric, in the order of the scores, the means
        over methods (`ALL_METHODS`) last: `COLUMNS`. `reference` and `value`, the means over the
        pairs, and differences are in the metric's unit. `low` and `high` are the ends of the 95 %
        interval; `unit` is what repeats behind it (`other_classes.ABOUT`), `pairs` how many seeds
        or splits there are. `ratio` is the variance ratio by which the test was chosen, `sign` the
        p-value of the sign test, `holm` that of the t test after Holm's correction for the single
        methods of one metric; missing for the mean over methods. Unknown values are missing, as is
        the sign test over splits, which are not independent.

    Raises:
        UserError: no score with its reference; several roles or selection rules; several networks,
            sizes or recipes of one data set.
    """
    pairs = _pairs(scores, references, between)
    single = _differences(pairs, scores, classes, between, rows)
    by_metric = single.groupby("metric", group_keys=False).p_value
    single["holm"] = by_metric.apply(holm).reindex(single.index)
    if between == "method":
        return single[COLUMNS]
    several = pairs.groupby(["dataset", "variant"]).method.transform("nunique") > 1
    means = _over_methods(pairs[several])
    together = _differences(means, scores, classes, between, rows).assign(holm=np.nan)
    return pd.concat([single, together] if len(together) else [single], ignore_index=True)[COLUMNS]


def holm(p_values: pd.Series) -> pd.Series:
    """P-values after Holm's step-down correction for their number; missing ones stay missing.

    Source: Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6, 1979.
    """
    known = p_values.dropna().sort_values(kind="stable")
    steps = known * np.arange(len(known), 0, -1)
    return steps.cummax().clip(upper=1).reindex(p_values.index)


def _pairs(scores: pd.DataFrame, references: Mapping[str, str], between: str) -> pd.DataFrame:
    """The scores that have a reference, with its score, in the units of their metrics."""
    scores = in_units(scores)
    check_one(scores, ("role", "selection"), "the scores have")
    for dataset, rows in scores.groupby("dataset", sort=False):
        alike = all_but("dataset", "method", "variant", "split", "fold", "seed")
        check_one(rows, alike, f"data set {dataset} has")
    others = scores.assign(_reference=scores[between].map(references)).dropna(subset="_reference")
    alike = [column for column in ROW if column != between] + ["metric"]
    first = scores[[*alike, between, "value"]].rename(columns={between: "_reference"})
    both = others.merge(first, on=[*alike, "_reference"], suffixes=("", "_reference"))
    if both.empty:
        wanted = ", ".join(sorted({name or "base" for name in references.values()}))
        available = ", ".join(sorted({name or "base" for name in scores[between]}))
        raise UserError(f"no scores of {between} {wanted} to compare with ({available})")
    reference = both["value_reference"]
    return both.assign(reference=reference, difference=both["value"] - reference)


def _over_methods(pairs: pd.DataFrame) -> pd.DataFrame:
    """The pairs' means over methods, for seeds and splits that all methods of a variant have."""
    together = ["dataset", "variant", "metric"]
    all_of = pairs.groupby(together, sort=False).method.transform("nunique")
    groups = pairs.assign(all_of=all_of).groupby([*together, "split", "seed", "fold"], sort=False)
    means = groups[["reference", "value", "difference", "all_of"]].mean()
    methods = groups["method"].agg(tuple).rename("methods")
    references = groups["_reference"].first()
    whole = means.join([methods, references])[groups.size() == means.all_of]
    return whole.reset_index().assign(method=ALL_METHODS)


def _differences(
    pairs: pd.DataFrame,
    scores: pd.DataFrame,
    classes: pd.DataFrame | None,
    between: str,
    shown: Sequence[Mapping[str, Any]],
) -> pd.DataFrame:
    alike = ["method", "variant"]
    ratios = {
        names: variance_ratio((each.value, each.reference) for _, each in group.groupby(alike))
        for names, group in pairs.groupby(["dataset", "metric"])
    }
    shifts = {key: shift_of(shown, alike, key[1], dataset=key[0]) for key in ratios}
    over_splits = _OverSplits(scores, classes, shifts)
    rows = []
    for names, group in pairs.groupby(["dataset", *alike, "metric"], sort=False):
        weights = _weights(names, group, between)
        if group.split.nunique() > 1:
            rows.append((*names, *over_splits.of(names, group, weights)))
            continue
        place = names[0], names[-1]
        ratio, shift = ratios[place], shifts[place]
        further = shift and shift.of(weights)
        test = compared(group.value, group.reference, ratio=ratio, further=further)
        means = (test.pairs, group.reference.mean(), group.value.mean(), test.mean)
        tested = (test.low, test.high, test.p_value, test.sign, ratio, SEED)
        rows.append((*names, *means, *tested))
    return pd.DataFrame(rows, columns=[column for column in COLUMNS if column != "holm"])


def _weights(names: tuple[str, ...], group: pd.DataFrame, between: str) -> dict[tuple, float]:
    """Method and variant -> its weight in a difference, or in the mean of several methods'."""
    _, method, variant, _ = names
    methods = [method] if method != ALL_METHODS else group["methods"].iloc[0]
    weights: dict[tuple, float] = defaultdict(float)
    for each in methods:
        arm = {"method": each, "variant": variant}
        control = arm | {between: group["_reference"].iloc[0]}
        weights[tuple(arm.values())] += 1 / len(methods)
        weights[tuple(control.values())] -= 1 / len(methods)
    return weights


class _OverSplits:
    """The differences of a long table whose trainings are on several splits of the classes."""

    def __init__(
        self,
        scores: pd.DataFrame,
        classes: pd.DataFrame | None,
        shifts: Mapping[tuple[str, str], Shift | None],
    ):
        self.scores, self.classes, self.shifts = scores, classes, shifts
        self.alike = functools.cache(self._alike)

    def _alike(self, dataset: str, metric: str) -> OverSplits:
        def kept(frame: pd.DataFrame) -> pd.DataFrame:
            return in_units(frame[(frame["dataset"] == dataset) & (frame["metric"] == metric)])

        of_class = None if self.classes is None else kept(self.classes)
        by, shift = ["method", "variant"], self.shifts[dataset, metric]
        return OverSplits(kept(self.scores), by, of_class, shift=shift)

    def of(
        self, names: tuple[str, ...], group: pd.DataFrame, weights: Mapping[tuple, float]
    ) -> tuple:
        """The columns of `COLUMNS` after the first four, without `holm`."""
        alike = self.alike(names[0], names[-1])
        found = alike.difference(weights)
        half = half_interval(found)
        p_value = p_value_of(found)
        by_split = group.groupby("split")[["reference", "value"]].mean()
        means = (len(by_split), by_split.reference.mean(), by_split.value.mean(), found.value)
        bounds = (found.value - half, found.value + half)
        return (*means, *bounds, p_value, np.nan, np.nan, alike.unit(weights))
