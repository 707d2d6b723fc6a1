"""What is wrong in config/searches.yaml is one line before a job starts."""

import pytest
import yaml
from dmlbench import plan
from dmlbench.errors import UserError
from dmlbench.plan.specs.searches import Search
from dmlbench.plan.views import search_checks
from test_searches_plan import CONFIGURATION, NAME


def problem(folder, keys, value):
    """The error of loading after a change of a search's value."""
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
        (["parameters", "loss.margin", "step"], 0, ["loss.margin.step: 0: ", "greater than 0"]),
        (["parameters", "loss.margin", "hihg"], 1, ["'hihg'", "'high'"]),
        (
            ["parameters", "loss.margin"],
            {"low": 0.1, "high": 1, "log": True},
            ["parameters.loss.margin: strategy coordinate", "low, high and step, or choices"],
        ),
        (
            ["parameters"],
            {"miner": {"choices": ["hard_pairs", "hrd_pairs"]}},
            ["parameters.miner: ", "'hrd_pairs'; did you mean 'hard_pairs'"],
        ),
        (["parameters"], {"miner": {"choices": ["hard", "random"]}}, ["loss multi_similarity"]),
        (["parameters"], {"batch_size": {"choices": [10, "ten"]}}, ["batch_size", "'ten'"]),
        (["most_failed"], 1.5, ["most_failed: 1.5", "less than or equal to 1"]),
        (["folds"], [], ["folds", "at least 1"]),
        (["folds"], [0, 1, 0], ["folds [0, 1, 0]", "each fold once"]),
        (["folds"], [-1], ["folds.0: -1", "greater than or equal to 0"]),
    ],
)
def test_what_is_wrong_is_one_line(folder, keys, value, parts):
    message = problem(folder, keys, value)
    assert f"searches.yaml: {NAME}" in message
    for part in parts:
        assert part in message


def test_values_are_checked_for_each_run_and_once_for_equal_runs(folder, monkeypatch):
    path = folder / "searches.yaml"
    search = yaml.safe_load(path.read_text())[NAME]
    split = {"run": search["run"] | {"split": "fixed-80"}}
    method = {"run": search["run"] | {"method": "contrastive"}}
    path.write_text(yaml.safe_dump({"a": search, "b": search | split}))
    checks = []
    real = search_checks._check_values
    monkeypatch.setattr(search_checks, "_check_values", lambda *of: checks.append(of) or real(*of))
    plan.load(CONFIGURATION, folder)
    assert len(checks) == 1
    path.write_text(yaml.safe_dump({"a": search, "b": search | method}))
    with pytest.raises(UserError, match=r"searches\.yaml: b\.parameters"):
        plan.load(CONFIGURATION, folder)


def test_folds_and_a_fold_are_one_too_many(folder):
    run = yaml.safe_load((folder / "searches.yaml").read_text())[NAME]["run"]
    values = {"folds": [0, 1], "run": run | {"fold": 2}}
    with pytest.raises(ValueError, match=r"both folds and run\.fold 2"):
        Search.model_validate(yaml.safe_load((folder / "searches.yaml").read_text())[NAME] | values)


def test_a_loss_may_be_searched_with_an_option_that_only_it_has(folder):
    path = folder / "searches.yaml"
    values = yaml.safe_load(path.read_text())["proxy_anchor_tpe"]
    values["parameters"] = {
        "loss.scale": {"low": 1, "high": 100, "log": True},
        "loss.name": {"choices": ["arcface", "cosface"]},
    }
    path.write_text(yaml.safe_dump({NAME: values}, sort_keys=False))
    plan.load(CONFIGURATION, folder)
    refused = {"choices": ["arcface", "proxy_anchor"]}
    message = problem(folder, ["parameters", "loss.name"], refused)
    assert "parameters.loss.name: " in message
    assert "'scale'" in message


def test_a_parameter_that_the_run_does_not_say_needs_a_start(folder):
    parameters = {"loss_learning_rate": {"low": 0.1, "high": 0.2, "step": 0.1}}
    assert "strategy.start" in problem(folder, ["parameters"], parameters)
