"""Whether two printed numbers can be roundings of one."""

import pytest
from dmlbench.statistics.audit.rounding import (
    DIFFERS,
    EQUAL,
    ROUNDED_UP,
    TRUNCATED,
    same_number,
    verdict,
)
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("printed", "recomputed", "digits", "wanted"),
    [
        (8.58, 8.58333, 2, EQUAL),
        (63.61, 63.605, 2, EQUAL),
        (63.60, 63.605, 2, EQUAL),
        (3.16, 3.16667, 2, TRUNCATED),
        (1.89, 1.8829, 2, ROUNDED_UP),
        (8.85, 8.58333, 2, DIFFERS),
        (12, 13.0, 0, DIFFERS),
    ],
)
def test_verdicts(printed, recomputed, digits, wanted):
    assert verdict(printed, recomputed, digits) == wanted


@given(st.floats(0, 100, allow_nan=False), st.integers(0, 3), st.integers(0, 3))
def test_roundings_of_one_number_are_the_same_number(number, first, second):
    printed = [f"{number:.{digits}f}" for digits in (first, second)]
    assert verdict(float(printed[0]), number, first) == EQUAL
    assert same_number(float(printed[0]), first, float(printed[1]), second)


def test_numbers_of_one_precision_are_the_same_or_not():
    assert same_number(50.0, 1, 50.04, 2)
    assert not same_number(50.00, 2, 50.01, 2)
    assert not same_number(50.0, 1, 50.06, 2)
