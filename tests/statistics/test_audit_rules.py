"""Each rule of the audit on small hand-made tables, right and wrong."""

import itertools

import numpy as np
import pytest
from audit_documents import document, findings, row, series
from dmlbench.errors import UserError
from dmlbench.statistics.audit import (
    audit_frame,
    bold,
    bounds,
    facts,
    falling_recall,
    formulas,
    means,
    precision_and_map,
    ranks,
    recall_curves,
    repeated,
    reruns,
    search_grid,
    twins,
    zero_spread,
)
from dmlbench.statistics.audit.check import AGREES, CERTAIN, FORMULA, LIKELY, NOTE, place
from hypothesis import given, settings
from hypothesis import strategies as st


def test_recall_that_falls_is_found():
    assert not findings(falling_recall, document(*series("50", "60", "60", "70")))
    (found,) = findings(falling_recall, document(*series("50", "60", "70", "65")))
    assert (found.printed, found.sure) == ("50/60/70/65", CERTAIN)
    assert "R@8 is lower than R@4" in found.explanation


def test_a_curve_unlike_the_others_is_noted_once():
    def curve(low, lift, **cell):
        logits = (low, low + 0.7 + lift, low + 1.4)
        values = [f"{100 / (1 + np.exp(-logit)):.2f}" for logit in logits]
        names = ("recall_at_2", "recall_at_4", "recall_at_8")
        return row(dict(zip(names, values, strict=True)), **cell)

    rows = [curve(n / 30, 0.01 * (-1) ** n, variant=f"m={n}") for n in range(40)]
    assert not findings(recall_curves, document(*itertools.chain(*rows)))
    odd = [curve(0.5, -0.2, variant="m=40"), curve(0.5, -0.2, variant="m=40", table="02")]
    (found,) = findings(recall_curves, document(*itertools.chain(*rows, *odd)))
    assert (found.variant, found.sure) == ("m=40", NOTE)


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({"recall_at_2": "60.00", "precision_at_2": "45.00"}, 0),
        ({"recall_at_2": "60.00", "precision_at_2": "61.00"}, 1),
        ({"recall_at_2": "60.00", "precision_at_2": "29.00"}, 1),
        ({"recall_at_1": "50.00", "precision_at_1": "50.00"}, 0),
        ({"recall_at_1": "50.00", "precision_at_1": "50.30"}, 1),
        # Of 4 neighbors at most 2 more are right than of 2.
        ({"precision_at_2": "50.00", "precision_at_4": "75.00"}, 0),
        ({"precision_at_2": "50.00", "precision_at_4": "76.00"}, 1),
        ({"precision_at_2": "50.00", "precision_at_4": "24.00"}, 1),
        ({"r_precision": "30.00", "map_at_r": "30.00"}, 0),
        ({"r_precision": "30.00", "map_at_r": "30.10"}, 1),
        ({"nmi": "100.00"}, 0),
        ({"nmi": "100.10"}, 1),
    ],
)
def test_metrics_bound_each_other(values, wrong):
    assert len(findings(bounds, document(*row(values)))) == wrong


def test_a_definition_bounds_a_column():
    cells = [{"method": name, "metric": "map_at_1000"} for name in ("margin", "triplet")]
    bound = {"where": {"metric": "map_at_1000"}, "at_most": 6, "why": "it divides by 1000"}
    (found,) = findings(bounds, document(*cells, bounds=[bound]))
    assert found.explanation == "2 of 2 cells: it divides by 1000."
    assert not findings(bounds, document(*cells, bounds=[bound | {"at_most": 60}]))


def test_map_at_r_off_the_line_is_found():
    rows = [
        cell
        for percent in range(30, 60, 3)
        for cell in row(
            {"r_precision": f"{percent}", "map_at_r": f"{percent - 14 + percent % 2 / 5:.2f}"},
            variant=f"m={percent}",
        )
    ]
    assert not findings(precision_and_map, document(*rows))
    rows[-1]["value"] = "31.77"
    (found,) = findings(precision_and_map, document(*rows))
    assert (found.printed, found.sure) == ("31.77", LIKELY)


def test_ranks_are_recomputed():
    cells = [
        {"panel": panel, "method": method, "value": value}
        for panel, values in {"a": ("3", "2", "1"), "b": ("3", "1", "2")}.items()
        for method, value in zip(("margin", "triplet", "n_pair"), values, strict=True)
    ]
    printed = [
        {"table": "02", "method": "margin", "metric": "average", "value": "1"},
        {"table": "02", "method": "triplet", "metric": "average", "value": "2.5"},
        {"table": "02", "method": "n_pair", "metric": "average", "value": "3.5"},
    ]
    given = {
        "table": "02",
        "over": {"table": "01"},
        "experiments": ["panel"],
        "columns": {"average": "mean"},
    }
    (found,) = findings(ranks, document(*cells, *printed, ranks=[given]))
    assert (found.method, found.printed, found.recomputed) == ("n_pair", "3.5", "2.500")


def test_means_and_deviations_are_recomputed():
    folds = [{"variant": f"fold={n}", "value": value} for n, value in enumerate(("60", "61", "65"))]
    given = {"where": {"table": "02"}, "over": {"table": "01"}}
    right = document(*folds, {"table": "02", "value": "62.00", "std": "2.65"}, means=[given])
    assert not findings(means, right)
    wrong = document(*folds, {"table": "02", "value": "62.10", "std": "2.16"}, means=[given])
    assert [found.printed for found in findings(means, wrong)] == ["62.10", "2.16"]


def test_repeated_cells_must_agree():
    assert not findings(repeated, document({}, {"table": "02", "value": "50.0"}))
    (found,) = findings(repeated, document({}, {"table": "02", "value": "50.10"}))
    assert (found.table, found.printed, found.recomputed) == ("2", "50.10", "50.00")
    # A number that slipped into the next column is named.
    cells = [*row({"recall_at_2": "57.56", "nmi": "52.91"}), {"table": "02", "metric": "nmi"}]
    cells[-1]["value"] = "57.56"
    (found,) = findings(repeated, document(*cells))
    assert "57.56 is the recall_at_2 of table 1" in found.explanation


def test_a_row_that_differs_is_one_finding_and_settings_make_it_less_sure():
    own = row({"recall_at_1": "50.00", "recall_at_2": "60.00"}, variant="m=1")
    other = row({"recall_at_1": "51.00", "recall_at_2": "61.00"}, variant="m=1", table="02")
    (found,) = findings(repeated, document(*own, *other))
    assert (found.printed, found.sure) == ("51.00/61.00", LIKELY)
    assert not findings(repeated, document(*own, *other, abridged=["02"]))


def test_a_note_names_the_row_that_a_cell_repeats():
    source = {"table": "4_02", "variant": "m=1;no_hinge", "value": "50.00"}
    cell = {"table": "4_13", "note": "bold in source;equals Table 4.2 margin m=1,no_hinge"}
    assert not findings(repeated, document(source, cell, abridged=["4_13"]))
    wrong = document(source, cell | {"value": "50.01"}, abridged=["4_13"])
    assert len(findings(repeated, wrong)) == 1


def test_reruns_may_differ_by_their_spread():
    given = {"where": {"table": "02"}, "of": {"table": "01"}, "match": ["method"], "runs": 5}
    near = document(
        {"std": "0.30"}, {"table": "02", "value": "50.40", "std": "0.30"}, reruns=[given]
    )
    far = document(
        {"std": "0.30"}, {"table": "02", "value": "53.00", "std": "0.30"}, reruns=[given]
    )
    assert not findings(reruns, near)
    assert [found.recomputed for found in findings(reruns, far)] == ["50.00±0.30"]


def test_bold_is_for_the_best():
    best, other = {"value": "60.00"}, {"method": "triplet", "value": "59.00"}
    mark = {"note": "cited;bold in source"}
    assert not findings(bold, document(best | mark, other, bold=[{}]))
    (found,) = findings(bold, document(best, other | mark, bold=[{}]))
    assert (found.method, found.recomputed) == ("triplet", "60.00")
    # The best without regularization may be bold as well.
    regularized = best | {"variant": "D;regularized"}
    rule = {"or_without": "regularized"}
    assert not findings(bold, document(regularized | mark, other | mark, bold=[rule]))


@pytest.mark.parametrize(
    ("interval", "step", "optimum", "wrong"),
    [
        ("[0,1]", "0.1", "0.8", 0),
        ("(0,100]", "10", "60", 0),
        ("(0,100]", "10", "58", 1),
        ("[0.00001, 0.0001]", "0.00001", "0.00005", 0),
        ("[0,1]", "0.1", "1.1", 1),
    ],
)
def test_an_optimum_is_on_its_grid(interval, step, optimum, wrong):
    search = ("15", "soft_triple", "gamma", interval, step, optimum)
    assert len(findings(search_grid, document({}, searches=[search]))) == wrong


def test_a_spread_of_zero_is_found():
    assert not findings(zero_spread, document({"std": "0.10"}))
    cells = row({"recall_at_1": "50.00", "recall_at_2": "60.00"}, std="0.00")
    (found,) = findings(zero_spread, document(*cells))
    assert found.printed == "50.00±0.00/60.00±0.00"


def test_two_settings_with_one_mean_and_spread_are_found_unless_by_chance():
    given = [{"where": {"table": "01"}, "runs": 5}]
    cells = [{"variant": name, "std": "0.61"} for name in ("spc_2", "spc_4")]
    (found,) = findings(twins, document(*cells, spreads=given))
    assert (found.variant, found.sure) == ("spc_4", LIKELY)
    small = [cell | {"std": "0.01"} for cell in cells]
    assert not findings(twins, document(*small, spreads=given))
    assert not findings(twins, document(cells[0], cells[1] | {"std": "0.60"}, spreads=given))


def test_a_formula_is_held_against_its_law():
    law = {
        "formula": "equation 1",
        "line": 1,
        "says": "it has the wrong sign",
        "given": {"loss": "exp(-a * s)", "printed": "a * loss"},
        "at": {"a": 2, "s": 0.5},
        "value": "printed",
        "must_be": "Derivative(loss, s)",
    }
    (found,) = findings(formulas, document({}, formulas=[law]))
    assert (found.blames, found.cause, found.recomputed) == (FORMULA, "equation 1", "-0.7358")
    assert not findings(formulas, document({}, formulas=[law | {"value": "-printed"}]))
    with pytest.raises(UserError, match="formula equation 1: 'printed' is not a number at"):
        findings(formulas, document({}, formulas=[law | {"at": {"a": 2}}]))


def test_facts_that_are_stated_twice():
    def fact(*stated, within=0.0):
        places = [{"where": f"line {n}", **place} for n, place in enumerate(stated)]
        return document({}, facts=[{"id": "a", "says": "it", "stated": places, "within": within}])

    assert not findings(facts, fact({"value": 11788}, {"sum": [5864, 5924]}))
    assert not findings(facts, fact({"value": 5.3}, {"ratio": [120053, 22634]}, within=0.01))
    (found,) = findings(facts, fact({"value": 196}, {"sum": [96, 96]}))
    assert found.recomputed == "96 + 96 = 192 (line 1)"
    assert len(findings(facts, fact({"value": "test"}, {"value": "training"}))) == 1
    assert len(findings(facts, fact({"value": 120000}, {"product": [22634, 5]}, within=0.01))) == 1


@settings(max_examples=15)
@given(st.data())
def test_a_changed_cell_is_found(data):
    """Any change that breaks the order of a clean series, or one copy of it, is found."""
    numbers = data.draw(st.lists(st.integers(4000, 9000), min_size=4, max_size=4, unique=True))
    values = [f"{number / 100:.2f}" for number in sorted(numbers)]
    clean = [*series(*values), *({**cell, "table": "02"} for cell in series(*values))]
    frame = audit_frame(document(*clean))
    assert set(frame[frame["sure"] != "note"]["kind"]) == {AGREES}
    place_ = data.draw(st.integers(0, 7))
    changed = data.draw(
        st.integers(0, 10000).filter(lambda n: f"{n / 100:.2f}" != clean[place_]["value"])
    )
    clean[place_]["value"] = f"{changed / 100:.2f}"
    frame = audit_frame(document(*clean))
    assert repeated.kind in set(frame["kind"])


@pytest.mark.parametrize(
    ("table", "panel", "written"),
    [("06", "a", "6a"), ("11", "", "11"), ("4_02", "1", "4.2 part 1")],
)
def test_tables_are_named_as_a_reader_does(table, panel, written):
    assert place(table, panel) == written
