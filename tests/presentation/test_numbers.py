"""Rounding halves away from zero, of the intended decimal number."""

from decimal import Decimal

import pytest
from dmlbench.presentation.texts import duration, rounded
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (64.15, 1, "64.2"),
        (100 * 0.6415, 1, "64.2"),
        (64.25, 1, "64.3"),
        (9.25, 1, "9.3"),
        (-0.004, 2, "0.00"),
        (-2.5, 0, "-3"),
        (7, 2, "7.00"),
        (1e-12, 3, "0.000"),
    ],
)
def test_halves_go_away_from_zero(value, decimals, text):
    assert rounded(value, decimals) == text


def test_positive_numbers_have_a_plus():
    assert rounded(0.5, 2, sign="+") == "+0.50"
    assert rounded(-0.5, 2, sign="+") == "-0.50"
    assert rounded(-0.001, 2, sign="+") == "+0.00"


@given(st.integers(-(10**6), 10**6), st.integers(0, 3))
def test_numbers_with_these_decimals_are_unchanged(number, decimals):
    assert Decimal(rounded(number / 10**decimals, decimals)) == Decimal(number).scaleb(-decimals)


@given(st.floats(-1000, 1000), st.integers(0, 4))
def test_nothing_moves_by_more_than_half_a_unit(value, decimals):
    assert abs(float(rounded(value, decimals)) - value) <= 0.5 * 10**-decimals + 1e-8


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (4.21, "4.2 s"),
        (59.97, "1 min 00 s"),
        (200, "3 min 20 s"),
        (3599.6, "1 h 00 min"),
        (7500, "2 h 05 min"),
    ],
)
def test_durations(seconds, text):
    assert duration(seconds) == text.replace(" ", "\N{NO-BREAK SPACE}")
