"""config/searches.yaml: what is wrong shows in one line before a job starts."""

import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml
from dmlbench import plan
from dmlbench.errors import UserError
from dmlbench.plan import searches
from dmlbench.plan.searches import Parameter
from hypothesis import given
from hypothesis import strategies as st

CONFIG = Path(__file__).resolve().parents[2] / "config"
CONFIGURATION = {"pathvars": {"results": "results"}, "studies": ["demo"]}
NAME = "multi_similarity_coordinate"


@pytest.fixture
def loaded():
    return plan.load(CONFIGURATION, CONFIG)


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(CONFIG, tmp_path / "config")


def problem(folder, keys, value):
    """What loading says once a value of a search is changed."""
    path = folder / "searches.yaml"
    values = yaml.safe_load(path.read_text())
    node = values[NAME]
    for key in keys[:-1]:
        node = node[key]
    node[keys[-1]] = value
    # Without the anchors that the searches share.
    path.write_text(yaml.safe_dump({NAME: values[NAME]}))
    with pytest.raises(UserError) as error:
        plan.load(CONFIGURATION, folder)
    message = str(error.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("keys", "value", "parts"),
    [
        (["budget"], 0, ["budget: 0", "greater"]),
        (["budget"], 118, ["budget: 118", "119 or more"]),
        (["strategy"], "tpee", ["unknown search/strategies 'tpee'", "'tpe'"]),
        (["strategy"], {"name": "coordinate", "pass": 1}, ["'pass'", "'passes'"]),
        (["strategy"], {"name": "coordinate", "start": {"loss.tau": 1}}, ["start", "'loss.tau'"]),
        (["pruner"], {"name": "median", "trials": 3}, ["'trials'", "startup_trials"]),
        (["run", "method"], "multi_similarty", ["run.method", "'multi_similarity'"]),
        (["run", "split"], "fixed-91", ["run.split", "'fixed-90'"]),
        (["run", "split"], "half", ["best_test_epoch", "allowed: best_validation_epoch"]),
        (["set"], {"epoch": 3}, ["set: epoch", "'epochs'"]),
        (["parameters"], {"loss.margn": {"low": 0, "high": 1, "step": 1}}, ["'margn'", "'margin'"]),
        (["parameters"], {"los.margin": {"low": 0, "high": 1, "step": 1}}, ["'los'", "'loss'"]),
        (["parameters"], {"loss_facto": {"low": 0, "high": 1, "step": 1}}, ["'loss_factor'"]),
        (["parameters"], {"batch_size": {"low": 0, "high": 1, "step": 1}}, ["batch_size: 0"]),
        (["parameters"], {"x; touch": {"low": 0, "high": 1, "step": 1}}, ["'x; touch'"]),
        (["parameters", "loss.margin", "step"], 0, ["step 0", "more than 0"]),
        (["parameters", "loss.margin", "step"], 0.3, ["3.33333 steps of 0.3", "whole number"]),
        (["parameters", "loss.margin", "low"], 1, ["low below high"]),
        (["parameters", "loss.margin", "hihg"], 1, ["'hihg'", "'high'"]),
    ],
)
def test_what_is_wrong_is_one_line(folder, keys, value, parts):
    message = problem(folder, keys, value)
    assert f"searches.yaml: {NAME}" in message
    for part in parts:
        assert part in message


def test_a_parameter_that_the_run_does_not_say_needs_a_start(folder):
    parameters = {"loss_learning_rate": {"low": 0.1, "high": 0.2, "step": 0.1}}
    assert "strategy.start" in problem(folder, ["parameters"], parameters)


@given(
    st.integers(-50, 50), st.integers(1, 40), st.sampled_from(["1", "2", "0.1", "0.00001", "2.5"])
)
def test_a_range_has_its_ends_and_equal_steps(low, steps, step):
    step = yaml.safe_load(step)
    high = round(low + steps * step, 10)
    values = Parameter(low=low, high=high, step=step).values
    assert (values[0], values[-1]) == (low, pytest.approx(high, abs=1e-12))
    assert len(values) == steps + 1
    assert Parameter(low=low, high=high, step=step, open=True).values == values[1:]
    assert {type(value) for value in values} == {type(step)}


def test_the_ranges_are_the_printed_ones(loaded):
    printed = pd.read_csv(CONFIG / "reference" / "psomas2020" / "settings_table_15.csv", dtype=str)
    for name, search in loaded.searches.items():
        rows = printed[printed.method == search.run.method].set_index("hyperparameter")
        assert [parameter.title for parameter in search.parameters.values()] == list(rows.index)
        for parameter in search.parameters.values():
            opening = "(" if parameter.open else "["
            low, high = rows.range[parameter.title][1:-1].split(",")
            assert rows.range[parameter.title][0] == opening, name
            ours = (parameter.low, parameter.high, parameter.step)
            assert ours == (float(low), float(high), float(rows.step[parameter.title]))


def test_strategies_have_the_same_budget_and_coordinate_searches_need_all_of_it(loaded):
    budgets = {search.run.method: set() for search in loaded.searches.values()}
    for search in loaded.searches.values():
        budgets[search.run.method].add(search.budget)
    assert budgets == {"multi_similarity": {119}, "soft_triple": {88}, "proxy_anchor": {60}}
    for name, search in loaded.searches.items():
        if search.strategy.name == "coordinate":
            spec = searches.facts(loaded, name)["trial_spec"]
            start = searches.starting_values(spec, search.parameters)
            start |= search.strategy.hyperparameters.get("start", {})
            assert searches.trials_of_a_pass(search.parameters, start) == search.budget


def test_titles_and_budgets_are_no_part_of_what_trials_are(loaded, folder):
    path = folder / "searches.yaml"
    text = path.read_text()

    def digest():
        return searches.digest(searches.facts(plan.load(CONFIGURATION, folder), NAME))

    before = digest()
    path.write_text(text.replace("margin λ", "a margin").replace("budget: 119", "budget: 200"))
    assert digest() == before
    path.write_text(text.replace("{epochs: 20}", "{epochs: 21}"))
    assert digest() != before


def test_a_rehearsal_shortens_searches(loaded):
    rehearsal = yaml.safe_load((CONFIG / "rehearsal.yaml").read_text())
    short = plan.load(CONFIGURATION | rehearsal, CONFIG).searches
    assert list(short) == list(loaded.searches)
    for search in short.values():
        assert all(len(parameter.values) == 2 for parameter in search.parameters.values())
        assert (search.budget, search.workers) == (10, 1)
