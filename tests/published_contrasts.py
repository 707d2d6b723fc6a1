"""What docs/findings/ says of published scores and no table has, computed from them."""

import functools

import numpy as np
import pandas as pd
from dmlbench.statistics.aggregation import read_scores
from published_scores import (
    PUBLISHED,
    by_seed,
    by_size,
    by_split,
    last_epoch,
    mean_ranks,
    of_pairs,
    of_splits,
)
from scipy import stats

LAST = ["n_pair", "lifted_structure"]
"""The losses of psomas2020 that are last in each of its tournaments here."""

LOW_RATES = ["generalized_lifted", "n_pair", "quadruplet"]
"""The losses of roth2020 whose searches end at low rates: as heads they learn least."""


def of_two_samples(first, second) -> tuple[float, float, float]:
    """The difference of means with Welch's interval."""
    test = stats.ttest_ind(first, second, equal_var=False)
    return (first.mean() - second.mean(), *test.confidence_interval(0.95))


@functools.cache
def of_scores() -> list[tuple[float, float, float]]:
    """The contrasts that no table shows."""
    losses = last_epoch("omniglot", "r_precision")
    found = [of_two_samples(losses["margin"], losses["contrastive"])]
    sweeps = {
        variant: last_epoch("can2019_omniglot_sweeps", "recall_at_1", variant=variant)["margin"]
        for variant in ("profs", "profs,iterations=1")
    }
    found += [of_pairs(sweeps["profs"] - sweeps["profs,iterations=1"])]
    tuned, mined = (
        last_epoch("karaman2021_omniglot", "recall_at_1", variant=variant)
        for variant in ("without_miner,tuned_without", "with_miner,tuned_with")
    )
    for method in ("location_aware", "entangle", "ratio"):
        found.append(of_two_samples(mined[method], tuned["distance_sensitive"]))
    found.append(of_pairs(mined.std(axis=1) - tuned[mined.columns].std(axis=1)))
    plain, mined = (
        last_epoch("karaman2021_grocery", "recall_at_1", variant=variant)
        for variant in ("without_miner", "with_miner")
    )
    found.append(of_pairs(mined.std(axis=1) - plain[mined.columns].std(axis=1)))
    for data in ("birds_trained", "cars_trained"):
        for metric in ("recall_at_1", "map_at_r"):
            found += _over_splits(f"psomas2020_{data}", metric)
    for data in ("birds", "cars"):
        found += _above_random(f"psomas2020_{data}_sizes")
    for study in ("musgrave2020_birds", "musgrave2020_cars"):
        for metric in ("map_at_r", "recall_at_1"):
            found.append(_miner(study, metric))
    found.append(_order_on_birds_and_cars("musgrave2020", "map_at_r", []))
    found += _paper_protocol("map_at_r")
    for study in ("roth2020_birds", "roth2020_cars"):
        found += _over_splits(study, "recall_at_1")
    for left_out in ([], LOW_RATES):
        found.append(_order_on_birds_and_cars("roth2020", "recall_at_1", left_out))
    for study in ("karaman2021_birds", "karaman2021_cars"):
        for metric in ("recall_at_1", "map_at_r"):
            found += _triplet_losses(by_split(study, metric), of_splits)
            found += _triplet_losses(by_seed(f"{study}_seeds", metric), of_pairs)
    found += [*_trained_networks("birds"), *_trained_networks("cars")]
    for data in ("omniglot", "grocery"):
        study = f"musgrave2020_{data}"
        scores = read_scores(PUBLISHED / study / "scores.parquet")
        tuned = pd.concat(
            [last_epoch(study, "recall_at_1", variant=each) for each in _tuned(scores)], axis=1
        )
        plain = last_epoch(study, "recall_at_1", variant="")[tuned.columns]
        found.append(of_pairs(tuned.std(axis=1) - plain.std(axis=1)))
    return found


def _miner(study: str, metric: str) -> tuple[float, float, float]:
    """MultiSimilarity with its miner less without, over splits of the classes."""
    tuned = by_split(study, metric)["tuned"]
    gain = tuned["multi_similarity_miner"] - tuned["multi_similarity_without_miner"]
    return of_splits(gain, tuned)


def _paper_protocol(metric: str) -> list[tuple[float, float, float]]:
    """musgrave2020's protocol on birds: what the miner changes, and correlations of the order.

    Of folds concatenated: with folds separated, and with heads of twelve trials, on the official
    halves and over all splits.
    """
    concatenated, separated = (
        last_epoch("musgrave2020_birds_folds", metric, fold=form)
        for form in ("concatenated", "separated")
    )
    fewer_trials = by_split("musgrave2020_birds", metric)["tuned"][concatenated.columns]
    others = [separated.mean(), fewer_trials.loc["half"], fewer_trials.mean()]
    return [
        of_pairs(
            concatenated["multi_similarity_miner"] - concatenated["multi_similarity_without_miner"]
        ),
        *(_rank_correlation(concatenated.mean(), other) for other in others),
    ]


def _order_on_birds_and_cars(
    paper: str, metric: str, left_out: list[str]
) -> tuple[float, float, float]:
    """Spearman's correlation of a paper's mean ranks on both, some losses left out afterwards."""
    birds, cars = (
        mean_ranks(by_split(f"{paper}_{data}", metric)["tuned"]).drop(left_out)
        for data in ("birds", "cars")
    )
    return _rank_correlation(cars, birds[cars.index])


def _triplet_losses(arms: pd.DataFrame, interval) -> list[tuple[float, float, float]]:
    """Losses less the distance-sensitive one, and what the miner changes.

    Args:
        interval: of differences by what is repeated.
    """
    variants = "without_miner,tuned_without", "with_miner,tuned_with"
    without, mined = (arms[variant] for variant in variants)
    gain = mined - without[mined.columns]
    over_proposed = mined.sub(without["distance_sensitive"], axis=0)
    both = arms[[*variants]]
    differences = [
        (without.sub(without["distance_sensitive"], axis=0), without),
        (mined.sub(mined["distance_sensitive"], axis=0), mined),
        (over_proposed, both),
        (gain, both),
    ]
    return [
        *(_of_two(interval, each[loss], alike) for each, alike in differences for loss in each),
        interval(gain.mean(axis=1)),
        interval(mined.std(axis=1) - without[mined.columns].std(axis=1)),
    ]


def _of_two(interval, difference: pd.Series, alike: pd.DataFrame) -> tuple[float, float, float]:
    """The interval of the difference of two arms, among those that have their variants."""
    return interval(difference, alike) if interval is of_splits else interval(difference)


def _over_splits(study: str, metric: str) -> list[tuple[float, float, float]]:
    """Tuned losses less the contrastive one, over splits of the classes."""
    tuned = by_split(study, metric)["tuned"]
    return [of_splits(tuned[each] - tuned["contrastive"], tuned) for each in tuned]


def _above_random(study: str) -> list[tuple[float, float, float]]:
    """What training adds to a random projection of the same size: all losses, and without LAST."""
    scores = by_size(study, "recall_at_1")
    above = scores.drop(index="untrained") - scores.loc["untrained"]
    return [of_pairs(each[size]) for each in (above, above.drop(index=LAST)) for size in above]


def _trained_networks(data: str) -> list[tuple[float, float, float]]:
    """R@1 of trained networks less that of heads on their features, and of the raw features."""
    trained = by_split(f"psomas2020_{data}_trained", "recall_at_1")["tuned"]
    others = by_split(f"psomas2020_{data}", "recall_at_1").loc[trained.index]
    frozen = others["tuned"][trained.columns]
    differences = [trained - frozen, trained.sub(others["", "raw_features"], axis=0)]
    return [
        *(of_splits(each[method]) for each in differences for method in each),
        of_splits(trained["triplet"] - trained["proxy_anchor"], trained),
        _rank_correlation(mean_ranks(trained), mean_ranks(frozen)),
    ]


def _rank_correlation(first: pd.Series, second: pd.Series) -> tuple[float, float, float]:
    """Spearman's, by Fisher's z."""
    middle = stats.spearmanr(first, second).statistic
    ends = np.tanh(np.arctanh(middle) + np.array([-1.96, 1.96]) * 1.03 / np.sqrt(len(first) - 3))
    return (middle, *ends)


def _tuned(scores: pd.DataFrame) -> list[str]:
    return sorted(name for name in scores["variant"].unique() if name.startswith("tuned"))
