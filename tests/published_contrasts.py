"""What docs/findings/ says of published scores in words and no table has, computed from them."""

import functools
import itertools

import numpy as np
import pandas as pd
from published_scores import (
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

MINED = "with_miner,tuned_with"

Interval = tuple[float, float, float]


@functools.cache
def of_scores() -> list[Interval]:
    """The contrasts that no table shows."""
    return [*_of_classes(), *_of_seeds(), *_of_losses()]


def _of_classes() -> list[Interval]:
    """Over splits of the classes."""
    cars = by_split("psomas2020_cars_trained", "recall_at_1")["tuned"]
    precision = by_split("psomas2020_cars_trained", "map_at_r")["tuned"]
    triplets = by_split("karaman2021_cars", "recall_at_1")[MINED]
    birds = by_split("psomas2020_birds_trained", "recall_at_1")["tuned"]
    raw = by_split("psomas2020_birds", "recall_at_1")["", "raw_features"].loc[birds.index]
    decay = by_split("roth2020_cars", "recall_at_1")["tuned"]
    miners = [by_split(f"musgrave2020_{data}", "map_at_r")["tuned"] for data in ("birds", "cars")]
    return [
        *(_less(triplets, each, "distance_sensitive") for each in ("ratio", "ranking")),
        *(_less(precision, each, "contrastive") for each in ("soft_triple", "triplet", "margin")),
        *(
            _less(each, "multi_similarity_miner", "multi_similarity_without_miner")
            for each in miners
        ),
        _less(cars, "triplet", "proxy_anchor"),
        _less(birds, "proxy_anchor", "contrastive"),
        of_splits(birds["soft_triple"] - raw),
        _less(decay, "angular", "contrastive"),
    ]


def _less(arms: pd.DataFrame, one: str, other: str) -> Interval:
    """One arm less another, over splits, among those of its study."""
    return of_splits(arms[one] - arms[other], arms)


def _of_seeds() -> list[Interval]:
    """Over seeds or reruns on one split of the classes."""
    precision = last_epoch("omniglot", "r_precision")
    test = stats.ttest_ind(precision["margin"], precision["contrastive"], equal_var=False)
    welch = (precision["margin"] - precision["contrastive"]).mean()
    triplets = by_seed("karaman2021_cars_seeds", "recall_at_1")[MINED]
    projected, hardly = (
        last_epoch("can2019_omniglot_sweeps", variant=variant)["margin"]
        for variant in ("profs", "profs,iterations=1")
    )
    folds = last_epoch("musgrave2020_birds_folds", "map_at_r", fold="concatenated")
    miner = folds["multi_similarity_miner"] - folds["multi_similarity_without_miner"]
    tuned = [
        [last_epoch(f"musgrave2020_{data}", variant=variant) for variant in ("tuned", "")]
        for data in ("omniglot", "grocery")
    ]
    return [
        (welch, *test.confidence_interval(0.95)),
        of_pairs(triplets["ratio"] - triplets["distance_sensitive"]),
        of_pairs(projected - hardly),
        of_pairs(miner),
        *(of_pairs(own.std(axis=1) - plain[own.columns].std(axis=1)) for own, plain in tuned),
    ]


def _of_losses() -> list[Interval]:
    """Over losses: what training adds to a random projection, and how well orders agree."""
    above = {}
    for data in ("birds", "cars"):
        scores = by_size(f"psomas2020_{data}_sizes", "recall_at_1")
        above[data] = scores.drop(index="untrained") - scores.loc["untrained"]
    above["cars"] = above["cars"].drop(index=LAST)
    concatenated, separated = (
        last_epoch("musgrave2020_birds_folds", "map_at_r", fold=form).mean()
        for form in ("concatenated", "separated")
    )
    fewer_trials = by_split("musgrave2020_birds", "map_at_r")["tuned"].loc["half"]
    return [
        *(of_pairs(each[size]) for each, size in itertools.product(above.values(), (64, 1024))),
        _agreement(concatenated, separated),
        _agreement(concatenated, fewer_trials),
        _birds_and_cars("musgrave2020", "map_at_r", []),
        *(_birds_and_cars("roth2020", "recall_at_1", out) for out in ([], LOW_RATES)),
    ]


def _birds_and_cars(paper: str, metric: str, left_out: list[str]) -> Interval:
    """How well a paper's mean ranks on both agree, some losses left out afterwards."""
    birds, cars = (
        mean_ranks(by_split(f"{paper}_{data}", metric)["tuned"]).drop(left_out)
        for data in ("birds", "cars")
    )
    return _agreement(birds, cars)


def _agreement(first: pd.Series, second: pd.Series) -> Interval:
    """Spearman's correlation, by Fisher's z."""
    middle = stats.spearmanr(first, second[first.index]).statistic
    ends = np.tanh(np.arctanh(middle) + np.array([-1.96, 1.96]) * 1.03 / np.sqrt(len(first) - 3))
    return (middle, *ends)
