"""Percentages that no number of queries gives."""

import pytest
from audit_documents import document, findings
from dmlbench.statistics.audit.check import NOTE
from dmlbench.statistics.audit.rounding import EQUAL, verdict
from dmlbench.statistics.audit.shares import (
    chance,
    is_truncated,
    misses,
    nearest_share,
    truncated_by_chance,
    whole_queries,
)


@pytest.mark.parametrize(("number", "miss"), [("68.54", True), ("68.53", False), ("60.28", False)])
def test_percentages_that_no_number_of_queries_gives(number, miss):
    # 4060 of 5924 is 68.5348, the next 68.5517; 3571 is 60.2802.
    cell = document({"value": number}).cells.iloc[0]
    assert misses(cell, 5924) == miss


@pytest.mark.parametrize("queries", [7, 40, 997, 5924, 60502])
@pytest.mark.parametrize("digits", [0, 1, 2])
def test_chance_is_the_share_of_numbers_that_miss(digits, queries):
    numbers = [f"{number / 10**digits:.{digits}f}" for number in range(100 * 10**digits + 1)]
    shares = {100 * m / queries for m in range(queries + 1)}
    nearest = [nearest_share(float(number), queries) for number in numbers]
    assert shares.issuperset(nearest)
    missed = sum(
        verdict(float(number), share, digits) != EQUAL
        for number, share in zip(numbers, nearest, strict=True)
    )
    assert chance(digits, queries) == pytest.approx(missed / len(numbers))


def shares(numbers, table="01") -> list[dict]:
    return [
        {"variant": f"m={n}", "value": value, "table": table} for n, value in enumerate(numbers)
    ]


def test_misses_of_a_table_are_one_defect_where_the_others_are_shares():
    rounded = [f"{100 * m / 997:.2f}" for m in range(300, 340)]
    given = [{"where": {"table": "01"}, "queries": 997}]
    assert not findings(whole_queries, document(*shares(rounded), counts=given))
    wrong = [*rounded]
    for n in (7, 9):
        wrong[n] = f"{float(wrong[n]) + 0.05:.2f}"
    found = findings(whole_queries, document(*shares(wrong), counts=given))
    assert [each.variant for each in found] == ["m=7", "m=9"]
    assert {(each.cause, each.sure) for each in found} == {("table 1", NOTE)}
    assert "explain 0 of the 2" in found[0].explanation
    # Numbers that have nothing to do with the queries are none, and means are not expected to be.
    others = [f"{40 + n * 0.37:.2f}" for n in range(40)]
    assert not findings(whole_queries, document(*shares(others), counts=given))
    means_ = [given[0] | {"runs": 5}]
    assert not findings(whole_queries, document(*shares(wrong), counts=means_))


def test_truncation_is_tested_against_chance():
    cut = [f"{100_00 * m // 997 / 100:.2f}" for m in range(300, 360)]
    mixed = [f"{100 * m / 997:.2f}" if n % 3 else cut[n] for n, m in enumerate(range(300, 360))]
    given = [{"where": {"table": "01"}, "queries": 997}]
    found = findings(whole_queries, document(*shares(mixed), counts=given))
    assert found
    assert "so it is the likely cause" in found[0].explanation
    # Of 997, a tenth of the percentages are shares; 85.14 is 5044 of 5924, cut off.
    assert truncated_by_chance(2, 997) == pytest.approx(0.055, abs=0.01)
    cell = document({"value": "85.14"}).cells.iloc[0]
    assert is_truncated(cell, 5924)
    assert not is_truncated(document({"value": "85.13"}).cells.iloc[0], 5924)
