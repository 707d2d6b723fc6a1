"""The forms that a searched parameter may have."""

import pytest
import yaml
from dmlbench.errors import UserError
from dmlbench.plan.catalogs.ranges import Parameter
from dmlbench.plan.catalogs.read import checked
from hypothesis import given
from hypothesis import strategies as st


@given(
    st.integers(-50, 50), st.integers(1, 40), st.sampled_from(["1", "2", "0.1", "0.00001", "2.5"])
)
def test_a_grid_has_its_ends_and_equal_steps(low, steps, step):
    step = yaml.safe_load(step)
    high = round(low + steps * step, 10)
    values = Parameter(low=low, high=high, step=step).values
    assert (values[0], values[-1]) == (low, pytest.approx(high, abs=1e-12))
    assert len(values) == steps + 1
    assert Parameter(low=low, high=high, step=step, open=True).values == values[1:]
    assert {type(value) for value in values} == {type(step)}


@pytest.mark.parametrize(
    ("text", "values", "extremes"),
    [
        ("{low: 0, high: 1, step: 0.5}", (0.0, 0.5, 1.0), (0, 1)),
        ("{low: 0, high: 4, step: 2, open: true}", (2, 4), (2, 4)),
        ("{low: 1.0e-5, high: 1, log: true}", None, (1e-5, 1)),
        ("{low: 1e-5, high: 1e-2}", None, (1e-5, 1e-2)),
        ("{low: 1, high: 64, integer: true, log: true}", None, (1, 64)),
        ("{choices: [hard, 2, 0.5, true]}", ("hard", 2, 0.5, True), ("hard", 2, 0.5, True)),
    ],
)
def test_forms(text, values, extremes):
    parameter = Parameter.model_validate(yaml.safe_load(text))
    assert (parameter.values, parameter.extremes) == (values, extremes)
    if values:
        assert list(map(type, parameter.values)) == list(map(type, values))
    again = parameter.model_dump(mode="json", exclude_defaults=True)
    assert Parameter.model_validate(again) == parameter


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{low: 0}", "has low; allowed: low, high and step, with open; "),
        ("{}", "has no values; allowed: "),
        ("{low: 1, high: 1, step: 1}", "low 1, high 1; allowed: low below high"),
        ("{low: 0, high: 1, step: 0.3}", "from 0 to 1 are 3.33333 steps of 0.3; allowed: a whole "),
        ("{low: 0, high: 1, step: -1}", "-1: Input should be greater than 0"),
        ("{low: 1, high: 2, step: 1, log: true}", "has low, high, step, log; allowed: "),
        ("{low: 1, high: 2, step: 1, integer: true}", "has low, high, step, integer; "),
        ("{low: 0, high: 1, open: true}", "has low, high, open; allowed: "),
        ("{low: 0, high: 1, log: true}", "low 0 with log; allowed: more than 0"),
        ("{low: 0.5, high: 4, integer: true}", "low 0.5, high 4; allowed: whole numbers"),
        ("{low: 0, high: .inf}", "inf: Input should be a finite number"),
        ("{low: 0, high: 1, step: .inf}", "inf: Input should be a finite number"),
        ("{choices: [1, .nan]}", "choices.1"),
        ("{choices: [a, b], low: 1}", "has low, choices; allowed: "),
        ("{choices: [a]}", "at least 2 items"),
        ("{choices: [a, b, a]}", "choices name 'a' twice"),
        ("{choices: [1, true]}", "choices name True twice, or an equal value"),
    ],
)
def test_what_is_wrong_is_one_line(text, problem):
    with pytest.raises(UserError) as error:
        checked(yaml.safe_load(text), Parameter, where="here")
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


@given(st.integers(2, 30), st.integers(2, 8), st.booleans())
def test_thinned_values_are_few_of_the_same_with_both_ends(size, count, grid):
    numbers = list(range(size))
    parameter = (
        Parameter(low=0, high=size - 1, step=1)
        if grid
        else Parameter(choices=[f"choice {number}" for number in numbers])
    )
    values, kept = parameter.values, parameter.thinned(count).values
    assert 2 <= len(kept) <= min(count, size)
    assert (kept[0], kept[-1]) == (values[0], values[-1])
    assert [value for value in values if value in kept] == list(kept)
    if not grid:
        assert len(kept) == min(count, size)
