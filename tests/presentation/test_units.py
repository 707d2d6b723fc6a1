"""Every kind of table and figure shows a metric in its unit, and marks what is better, if any is.

Each kind is made from the same stored numbers as NMI (percent, the higher the better) and as rho
and pi_ratio (plain numbers, of which neither is better).
"""

import csv
import functools
import io
import itertools
import math
import re

import matplotlib as mpl
import pandas as pd
import pytest
from dmlbench import registry
from dmlbench.errors import UserError
from dmlbench.presentation.table import Table
from kind_examples import BEST, EXAMPLES, FACTS, NO_WORD, SHOWN, WITHOUT_UNIT, scores
from kinds import build


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


@pytest.fixture(scope="module")
def made():
    """A function that makes a kind's example of a metric, once: tests change nothing of it."""

    @functools.cache
    def make(kind, metric, factor):
        package, name = kind.split("/")
        given, frame = EXAMPLES[kind](metric, factor)
        return build(package, name, **FACTS, **given)(frame, {"convnet": "A network"})

    return make


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
def test_numbers_are_in_the_unit_of_the_metric(made, kind, metric, factor):
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
def test_percent_is_named_where_it_is_the_unit(made, kind, metric, percent):
    said = words(made(kind, metric, 100 if percent else 1))
    if kind.endswith("_shares"):  # shares of the variance are percent whatever the metric
        said = re.sub("percent|100 %", "", said)
    assert bool(re.search(r"%|[Pp]ercent| points", said)) == percent, said


def marked(table):
    return {
        row.label.partition(" (")[0]
        for row, texts in zip(table.rows, table.texts(), strict=True)
        if any(mark == "best" for _, mark in texts)
    }


@pytest.mark.parametrize("kind", sorted(kind for kind in EXAMPLES if kind.startswith("tables/")))
@pytest.mark.parametrize(("metric", "directed"), [("nmi", True), ("rho", False)])
def test_nothing_is_best_if_neither_direction_is(made, kind, metric, directed):
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
