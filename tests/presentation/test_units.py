"""Every kind of table and figure shows a metric in its unit, and marks what is better, if any is.

Each kind is made from the same stored numbers as NMI (percent, the higher the better) and as rho
and pi_ratio (plain numbers, of which neither is better). The expected numbers are written down here
as stored; a new kind with a metric needs an example.
"""

import csv
import io
import itertools
import math
import re
import statistics

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from dmlbench import registry
from dmlbench.errors import UserError
from dmlbench.presentation.table import Table
from dmlbench.statistics.aggregation import SCHEMA
from dmlbench.statistics.placement import nothing_printed
from kinds import build

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
    "tables/paired_differences": lambda metric, factor: (
        {"metrics": [metric]},
        scores(metric, variant=("", "mixup")),
    ),
    "tables/scores_next_to_printed": beside,
    "tables/scores_by_method": plain("metrics"),
    "tables/scores_by_split": by_split,
    "tables/variance_shares": shares,
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
    "tables/paired_differences": [0.4137, 0.4337, 0.02],
    "tables/scores_next_to_printed": [0.4137, STD, 0.3137],
    "tables/scores_by_method": [0.4137, STD],
    "tables/scores_by_split": [0.4137, 0.4337, STD, 0.02],
    "tables/variance_shares": [((0.08 - 2 * STD**2) / 12) ** 0.5],
    "figures/scores_by_axis": [0.4137, 0.4337],
    "figures/scores_with_change": [0.4137, 0.4337],
    "figures/scores_by_form": [0.4137, 0.4337],
}
"""Kind -> some numbers that it shows, as stored."""

WITHOUT_UNIT = {
    "tables/correlations": [1.0],
    "tables/deviations_from_printed": [round(0.05 / STD, 1)],
    "figures/metric_correlations": [1.0],
}
"""Kind -> numbers that it shows, whatever the unit of the metric."""

NO_WORD = {"tables/constants", "tables/paired_differences", "figures/singular_spectra"}
"""Kinds that show a value without naming its unit."""

BEST = {
    "tables/means_by_axis": "margin",
    "tables/scores_next_to_printed": "margin",
    "tables/scores_by_method": "margin",
    "tables/method_spread": None,
}
"""Kind with marks -> the row of the best score; None if there is one row."""


def kinds_with(*types):
    """Kinds with an option of one of these types of metrics, or a metric of any name."""
    for package in ("tables", "figures"):
        for kind in registry.available(f"presentation/{package}"):
            declared = registry.options(f"presentation/{package}", kind)
            for key, option in declared.items():
                if option.names & set(types) or (key == "metric" and "Metric" in types):
                    yield f"{package}/{kind}", key


KINDS = dict(kinds_with("Metric"))
RANKING = dict(kinds_with("RankingMetric"))


def made(kind, metric, factor):
    package, name = kind.split("/")
    given, frame = EXAMPLES[kind](metric, factor)
    return build(package, name, **FACTS, **given)(frame, {"convnet": "A network"})


def numbers(shown):
    """All numbers that a table or figure shows, in text or as the place of a mark."""
    if isinstance(shown, Table):
        cells = itertools.chain(*list(csv.reader(io.StringIO(shown.to_csv())))[1:])
        return [float(text) for text in cells if re.fullmatch(r"[+-]?[0-9.]+", text)]
    found = []
    for line in shown.findobj(mpl.lines.Line2D):
        found += [*map(float, line.get_xdata()), *map(float, line.get_ydata())]
    found += [bar.get_height() for bar in shown.findobj(mpl.patches.Rectangle)]
    for text in shown.findobj(mpl.text.Text):
        said = text.get_text().replace("\u2212", "-")
        found += map(float, re.findall(r"-?[0-9]+(?:\.[0-9]+)?", said))
    return [number for number in found if math.isfinite(number)]


def words(shown):
    """All that a table or figure says, but for the level of intervals and the number of points."""
    if isinstance(shown, Table):
        said = [shown.to_markdown()]
    else:
        said = [text.get_text() for text in shown.findobj(mpl.text.Text)]
    return re.sub(r"95 ?%|, [0-9]+ points", "", " ".join(said))


def has(found, wanted):
    """Whether a number is among those shown: rounded to one decimal from 1 on, or else to two."""
    return any(abs(number - wanted) < (0.06 if wanted >= 10 else 0.006) for number in found)


def test_every_kind_with_a_metric_has_an_example():
    assert set(KINDS) - set(RANKING) <= set(EXAMPLES)


@pytest.mark.parametrize("kind", sorted(EXAMPLES))
@pytest.mark.parametrize(("metric", "factor"), [("nmi", 100), ("rho", 1), ("pi_ratio", 1)])
def test_numbers_are_in_the_unit_of_the_metric(kind, metric, factor):
    shown = made(kind, metric, factor)
    found = numbers(shown)
    if kind in WITHOUT_UNIT:
        assert all(has(found, wanted) for wanted in WITHOUT_UNIT[kind]), found
        return
    for stored in SHOWN[kind]:
        assert has(found, factor * stored), (stored, found)
    other = 101 - factor
    assert not has(found, other * SHOWN[kind][0]), found


@pytest.mark.parametrize("kind", sorted(EXAMPLES.keys() - WITHOUT_UNIT.keys() - NO_WORD))
@pytest.mark.parametrize(("metric", "percent"), [("nmi", True), ("rho", False)])
def test_percent_is_named_where_it_is_the_unit(kind, metric, percent):
    said = words(made(kind, metric, 100 if percent else 1))
    if kind == "tables/variance_shares":  # shares of the variance are percent whatever the metric
        said = said.replace("percent", "")
    assert bool(re.search(r"%|[Pp]ercent| points", said)) == percent, said


def marked(table):
    return {
        row.label.partition(" (")[0]
        for row, texts in zip(table.rows, table.texts(), strict=True)
        if any(mark == "best" for _, mark in texts)
    }


@pytest.mark.parametrize("kind", sorted(kind for kind in EXAMPLES if kind.startswith("tables/")))
@pytest.mark.parametrize(("metric", "directed"), [("nmi", True), ("rho", False)])
def test_nothing_is_best_if_neither_direction_is(kind, metric, directed):
    table = made(kind, metric, 100 if directed else 1)
    best = {BEST[kind]} - {None} if directed and kind in BEST else set()
    assert marked(table) == best
    said = "Best in bold" in table.caption
    assert said == (bool(best)), table.caption
    assert not directed or kind in BEST or not any(column.better for column in table.columns)


def test_percent_next_to_plain_numbers_says_which_are_which():
    frame = pd.concat([scores("nmi"), scores("rho")])
    table = build("tables", "scores_by_method", **FACTS, metrics=["nmi", "rho"])(frame, {})
    assert "Scores on the test classes in percent (rho: plain numbers)." in table.caption
    triplet = table.texts()[1]
    assert [text for text, _ in triplet] == ["41.37 ± 1.41", "0.41 ± 0.01"]
    assert [[mark for _, mark in row] for row in table.texts()] == [
        ["", ""],
        ["second", ""],
        ["best", ""],
    ]


@pytest.mark.parametrize("kind", sorted(RANKING))
@pytest.mark.parametrize("metric", ["rho", "pi_ratio"])
def test_what_ranks_is_refused_a_metric_without_a_better_direction(kind, metric):
    package, name = kind.split("/")
    key = RANKING[kind]
    declared = registry.options(f"presentation/{package}", name)[key]
    several = declared.names & {"Sequence"}
    for value, fine in ((metric, False), ("nmi", True)):
        given = {key: [value] if several else value}
        message = ""
        try:
            registry.check_options(f"presentation/{package}", name, given)
        except UserError as error:
            message = str(error)
        assert (f"{key} is " in message) is not fine, message
        assert "\n" not in message
