"""An example of every kind of table and figure with a metric, and what it must show.

The expected numbers are written down here as stored; a new kind with a metric needs an example.
"""

import itertools
import statistics

import numpy as np
import pandas as pd
from dmlbench.statistics.aggregation import SCHEMA
from dmlbench.statistics.placement import nothing_printed

MEANS = {"contrastive": 0.3137, "triplet": 0.4137, "margin": 0.5137}
STD = statistics.stdev([0.41, 0.39])
ROW = {
    "dataset": "glyphs",
    "network": "convnet",
    "embedding_dim": 64,
    "recipe": "short",
    "variant": "",
    "split": "half",
    "fold": "",
    "seed": 0,
    "role": "test",
    "selection": "last_epoch",
}
FACTS = {"methods": list(MEANS), "years": {"contrastive": 2006, "triplet": 2015, "margin": 2017}}


def scores(metric, **varied):
    """Two seeds 0.02 apart around `MEANS`, 0.02 more for each further value of what is varied."""
    varied = {"seed": (0, 1)} | varied
    rows = [
        ROW
        | dict(zip(varied, chosen, strict=True))
        | {"method": method, "metric": metric}
        | {"value": mean + _gain(varied, chosen)}
        for method, mean in MEANS.items()
        for chosen in itertools.product(*varied.values())
    ]
    return pd.DataFrame(rows, columns=SCHEMA.names).assign(run="run")


def _gain(varied, chosen):
    places = {key: varied[key].index(value) for key, value in zip(varied, chosen, strict=True)}
    return 0.01 - 0.02 * places.pop("seed") + 0.02 * sum(places.values())


def printed(metric, factor, numbers, **place):
    """Printed numbers of methods, placed; `factor` times as large as stored ones."""
    rows = [
        {key: ROW[key] for key in ("dataset", "network", "embedding_dim", "variant", "split")}
        | {"fold": "", "role": "test", "metric": metric, "method": method}
        | {"number": factor * value, "decimals": 3, "why": "", "table": "table_01", "runs": 1}
        | place
        for method, value in numbers.items()
    ]
    columns = nothing_printed()
    return pd.concat([columns, pd.DataFrame(rows)])[columns.columns].astype(columns.dtypes)


def plain(kind):
    """Options and scores of a kind that has a metric and needs nothing else."""
    return lambda metric, factor: ({kind: metric if kind == "metric" else [metric]}, scores(metric))


def along(**options):
    """Options besides the metric, of a kind whose scores are along an axis of variants."""
    return lambda metric, factor: (
        options | {"metric": metric},
        scores(metric, variant=("p=0", "p=1")),
    )


def deviations(metric, factor):
    numbers = printed(metric, factor, {"triplet": 0.4637, "margin": 0.55})
    return {"metrics": [metric], "printed": numbers}, scores(metric)


def gains(metric, factor):
    numbers = printed(metric, factor, {"contrastive": 0.3, "triplet": 0.45, "margin": 0.52})
    options = {"metrics": [metric], "over": "contrastive", "printed": numbers}
    return options, scores(metric)


def beside(metric, factor):
    return {"metrics": [metric], "printed": printed(metric, factor, MEANS)}, scores(metric)


def by_split(metric, factor):
    of_one = scores(metric, role=("validation", "test"))
    numbers = printed(metric, factor, {"triplet": 0.4137})
    return {"metric": metric, "printed": numbers}, of_one[of_one.method == "triplet"]


def shares(metric, factor):
    options = {"axis": "p", "metrics": [metric]}
    return options, scores(metric, variant=("p=0", "p=1"))


def with_another(metric, role="test"):
    """Scores of a metric, and of a plain one that rises alike."""
    other = scores("pi_intra", role=(role,)).assign(value=lambda f: f.value + 0.2)
    return pd.concat([scores(metric), other])


def correlated(metric, factor):
    return {"x": ["pi_intra"], "y": metric}, with_another(metric, role="train")


def crossed(metric, factor):
    """Two networks, data sets and splits, on all of which the losses are equally far apart."""
    varied = {"network": ("convnet", "other"), "dataset": ("glyphs", "more")}
    return {"metrics": [metric]}, scores(metric, **varied, split=("half", "half_swapped"))


def matrix(metric, factor):
    return {"metrics": [metric, "pi_intra"]}, with_another(metric)


def by_axis(metric, factor):
    options = {"axis": "p", "metrics": [metric], "change": ["p"], "role": "test"}
    return options, scores(metric, variant=("", "p=0", "p=1"))


def spaces(metric, factor):
    arrays = {0: {"labels": np.zeros(4), "points": np.eye(4)[:, :2]}}
    space = {"array": "points", "title": "one", "where": {"method": "triplet"}}
    return {"arrays": arrays, "spaces": [space], "metrics": [metric]}, scores(metric)


def spectra(metric, factor):
    frame = scores(metric)
    arrays = {"results/runs/run/measures/m.npz": {"last_epoch/singular_values": np.ones(3)}}
    rows = [ROW | {"method": "triplet", "run": "run"}]
    return {"arrays": arrays, "rows": rows, "change": ["p"], "metric": metric}, frame


EXAMPLES = {
    "tables/constants": lambda metric, factor: (
        {"numbers": [{"label": "all", "metric": metric}]},
        scores(metric),
    ),
    "tables/correlations": correlated,
    "tables/deviations_from_printed": deviations,
    "tables/gains_next_to_printed": gains,
    "tables/means_by_axis": along(axis="p", values=[0, 1]),
    "tables/method_spread": lambda metric, factor: (
        {"metrics": [metric], "against": ""},
        scores(metric),
    ),
    "tables/order_agreement": crossed,
    "tables/order_by_cells": crossed,
    "tables/order_means": crossed,
    "tables/order_shares": crossed,
    "tables/paired_differences": lambda metric, factor: (
        {"metrics": [metric]},
        scores(metric, variant=("", "mixup")),
    ),
    "tables/scores": beside,
    "tables/scores_next_to_printed": beside,
    "tables/scores_by_method": plain("metrics"),
    "tables/scores_by_split": by_split,
    "tables/variance_shares": shares,
    "figures/losses_over_cells": lambda metric, factor: (
        {"metric": metric},
        crossed(metric, factor)[1],
    ),
    "figures/metric_correlations": matrix,
    "figures/point_spaces": spaces,
    "figures/recall_by_embedding_dim": plain("metric"),
    "figures/recall_by_method": lambda metric, factor: (
        {"metrics": [metric], "embedding_dim": 64},
        scores(metric),
    ),
    "figures/recall_by_network": plain("metric"),
    "figures/scatter_with_correlation": correlated,
    "figures/scores_by_form": lambda metric, factor: (
        {"metric": metric},
        scores(metric, fold=("concatenated", "separated")),
    ),
    "figures/scores_by_year": plain("metric"),
    "figures/scores_by_axis": by_axis,
    "figures/scores_with_change": lambda metric, factor: (
        {"metric": metric, "change": ["mixup"]},
        scores(metric, variant=("", "mixup")),
    ),
    "figures/singular_spectra": spectra,
}
"""Kind -> a function of metric and factor to its options and scores."""

SPREAD = statistics.stdev(MEANS.values())
SHOWN = {kind: [0.4137] for kind in EXAMPLES} | {
    "tables/gains_next_to_printed": [0.1, 0.15],
    "tables/means_by_axis": [0.4137, 0.4337, STD],
    "tables/method_spread": [SPREAD],
    "tables/order_means": [0.1],
    "tables/order_shares": [SPREAD],
    "tables/paired_differences": [0.4137, 0.4337, 0.02],
    "tables/scores": [0.4137, STD, 0.3137],
    "tables/scores_next_to_printed": [0.4137, STD, 0.3137],
    "tables/scores_by_method": [0.4137, STD],
    "tables/scores_by_split": [0.4137, 0.4337, STD, 0.02],
    "tables/variance_shares": [((0.08 - 2 * STD**2) / 12) ** 0.5],
    "figures/losses_over_cells": [0.1],
    "figures/scores_by_axis": [0.4137, 0.4337],
    "figures/scores_with_change": [0.4137, 0.4337],
    "figures/scores_by_form": [0.4137, 0.4337],
}
"""Kind -> some numbers that it shows, as stored."""

WITHOUT_UNIT = {
    "tables/correlations": [1.0],
    "tables/deviations_from_printed": [round(0.05 / STD, 1)],
    "tables/order_agreement": [1.0],
    "tables/order_by_cells": [1.0],
    "figures/metric_correlations": [1.0],
}
"""Kind -> numbers that it shows, whatever the unit of the metric."""

NO_WORD = {"tables/constants", "tables/paired_differences", "figures/singular_spectra"}
"""Kinds that show a value without naming its unit."""

BEST = {
    "tables/means_by_axis": "margin",
    "tables/scores": "margin",
    "tables/scores_next_to_printed": "margin",
    "tables/scores_by_method": "margin",
    "tables/method_spread": None,
}
"""Kind with marks -> the row of the best score; None if there is one row."""
