"""The tables of searches against cells known by hand."""

import json
from types import SimpleNamespace

import pandas as pd
import pytest
from dmlbench import registry
from dmlbench.errors import UserError

PARAMETERS = {
    "loss.margin": {"title": "margin λ", "low": 0, "high": 1, "step": 0.1, "open": False},
    "loss.gamma": {"title": "gamma", "low": 0, "high": 100, "step": 10, "open": True},
}
TITLES = {"soft_triple": "SoftTriple"}


def described(strategy):
    facts = {"strategy": strategy, "metric": "recall_at_1", "parameters": PARAMETERS}
    return {"method": "soft_triple"} | facts


def trials(best, seconds, pruned):
    """Three trials of a search, the last of which repeats the first; the second is the best."""
    values = [{"loss.margin": 0.0, "loss.gamma": 10}, best, {"loss.margin": 0.0, "loss.gamma": 10}]
    return pd.DataFrame(
        {
            "number": [0, 1, 2],
            "state": ["pruned" if pruned else "complete", "complete", "complete"],
            "values": [json.dumps(some) for some in values],
            "validation": [None if pruned else 0.8, 0.9, 0.8],
            "trained": [True, True, False],
            "seconds": [seconds, seconds, 0.0],
        }
    )


def tuned(search, test):
    """The scores of the network trained with what a search found, as rows of the long table."""
    return pd.DataFrame(
        [
            {"variant": f"tuned={search}", "role": role, "selection": selection}
            | {"metric": "recall_at_1", "value": value - less}
            for role, value in (("validation", 0.91), ("test", test))
            for selection, less in (("best_validation_epoch", 0.0), ("last_epoch", 0.1))
        ]
    )


@pytest.fixture
def two_searches():
    searches = {"one": described("coordinate"), "other": described("tpe")}
    left = {
        "one": trials({"loss.margin": 0.4, "loss.gamma": 60}, 1800, pruned=False),
        "other": trials({"loss.margin": 0.3, "loss.gamma": 100}, 900, pruned=True),
    }
    untuned = tuned("one", 0.99).assign(variant="")
    scores = pd.concat([untuned, tuned("one", 0.6512), tuned("other", 0.67)], ignore_index=True)
    return searches, SimpleNamespace(trials=left, scores=scores)


def optima(searches):
    printed = pd.DataFrame(
        [("soft_triple", "gamma", "58")], columns=["method", "hyperparameter", "optimal_value"]
    )
    return registry.build(
        "presentation/tables",
        "search_optima",
        context={"titles": TITLES, "searches": searches},
        printed_settings=printed,
    )


def comparison(searches):
    printed = pd.DataFrame(
        [("soft_triple", "recall_at_1", "test", 66.12)],
        columns=["method", "metric", "role", "number"],
    )
    return registry.build(
        "presentation/tables",
        "search_comparison",
        context={"titles": TITLES, "searches": searches, "selection": "best_validation_epoch"},
        printed=printed,
    )


def test_optima_are_next_to_the_printed_ones(two_searches):
    searches, left = two_searches
    table = optima(searches)(left)
    assert table.to_csv() == (
        "panel,Parameter,range,step,coordinate,tpe,printed\n"
        'SoftTriple,margin λ,"[0, 1]",0.1,0.4,0.3,not printed\n'
        'SoftTriple,gamma,"(0, 100]",10,60,100,58\n'
    )
    assert table.notes == ("SoftTriple's printed gamma, 58, is not a value of its range and step.",)
    assert r"margin $\lambda$" in table.to_latex()


def test_a_parameter_of_a_continuous_range_has_no_step(two_searches):
    searches, left = two_searches
    for search in searches.values():
        margin = search["parameters"]["loss.margin"] | {"step": None}
        search["parameters"] = search["parameters"] | {"loss.margin": margin}
    assert 'SoftTriple,margin λ,"[0, 1]",none,' in optima(searches)(left).to_csv()


def test_strategies_at_one_budget(two_searches):
    searches, left = two_searches
    assert comparison(searches)(left).to_csv() == (
        "panel,Strategy,trials,trained,pruned,failed,hours,validation,validation_tuned,test,"
        "test_printed,test_difference\n"
        "SoftTriple,one at a time,3,2,0,0,1.00,90.00,91.00,65.12,66.12,-1.00\n"
        "SoftTriple,TPE,3,2,1,0,0.50,90.00,91.00,67.00,66.12,+0.88\n"
    )


def test_a_strategy_searches_a_method_once(two_searches):
    searches, left = two_searches
    searches["other"] = described("coordinate")
    with pytest.raises(UserError, match="one and other both search soft_triple by coordinate"):
        optima(searches)(left)


def test_a_search_without_a_complete_trial_is_named(two_searches):
    searches, left = two_searches
    left.trials["one"]["state"] = "failed"
    with pytest.raises(UserError, match="search one: no complete trial"):
        comparison(searches)(left)


def test_outcomes_say_the_best_values_and_what_all_trials_came_to():
    parameters = {
        "loss.margin": {"title": None, "low": 0, "high": 1, "log": False, "choices": None},
        "loss_factor": {"title": "rate", "low": 1e-06, "high": 1, "log": True, "choices": None},
        "miner": {"title": "miner", "choices": ["hard", "random"]},
    }
    facts = {"title": "SoftTriple", "metric": "recall_at_1", "parameters": parameters}
    searches = {"one": facts}
    best = {"loss.margin": 0.123456, "loss_factor": 0.00002, "miner": "hard"}
    left = trials(best, 1800, pruned=False)
    left.loc[2, ["state", "validation"]] = ["failed", None]
    given = {"titles": TITLES, "searches": searches}
    table = registry.build("presentation/tables", "search_outcomes", context=given)
    assert table(SimpleNamespace(trials={"one": left})).to_csv() == (
        "panel,Parameter,range,best,validation,median,worst,trials,failed,hours\n"
        "SoftTriple,loss.margin,0 to 1,0.123,90.00,85.00,80.00,3,1,1.00\n"
        'SoftTriple,rate,"1e-06 to 1, logarithmic",2e-05,,,,,,\n'
        'SoftTriple,miner,"hard, random",hard,,,,,,\n'
    )
