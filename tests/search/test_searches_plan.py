"""config/searches.yaml: what its searches are, and what they are known by."""

from pathlib import Path

import pandas as pd
import pytest
import yaml
from dmlbench import plan
from dmlbench.errors import UserError
from dmlbench.plan.catalogs.configuration import Rehearsal, SearchRehearsal
from dmlbench.plan.catalogs.places import with_values
from dmlbench.plan.catalogs.ranges import Parameter
from dmlbench.plan.catalogs.search_lists import expanded
from dmlbench.plan.specs import searches
from dmlbench.plan.specs.spec import Spec
from dmlbench.plan.views.search_checks import trials_of_a_pass

CONFIG = Path(__file__).resolve().parents[2] / "config"
CONFIGURATION = {"pathvars": {"results": "results"}, "studies": ["demo"]}
TEN = {"split": "half10fold"}
NAME = "multi_similarity_coordinate"


@pytest.fixture(scope="module")
def loaded():
    """Without the checks of all searches, which take seconds: `every_study` passes them."""
    return plan.reload(CONFIGURATION, CONFIG)


def printed_searches(loaded):
    """The searches of psomas2020, which prints ranges with steps."""
    return [name for name, search in loaded.searches.items() if search.run.recipe == "psomas2020"]


def test_the_ranges_are_the_printed_ones(loaded):
    printed = pd.read_csv(CONFIG / "reference" / "psomas2020" / "settings_table_15.csv", dtype=str)
    for name in printed_searches(loaded):
        search = loaded.searches[name]
        rows = printed[printed.method == search.run.method].set_index("hyperparameter")
        assert [parameter.title for parameter in search.parameters.values()] == list(rows.index)
        for parameter in search.parameters.values():
            opening = "(" if parameter.open else "["
            low, high = rows.range[parameter.title][1:-1].split(",")
            assert rows.range[parameter.title][0] == opening, name
            ours = (parameter.low, parameter.high, parameter.step)
            assert ours == (float(low), float(high), float(rows.step[parameter.title]))


def test_strategies_have_the_same_budget_and_coordinate_searches_need_all_of_it(loaded):
    budgets = {}
    for search in map(loaded.searches.get, printed_searches(loaded)):
        budgets.setdefault(search.run.method, set()).add(search.budget)
    assert budgets == {"multi_similarity": {119}, "soft_triple": {88}, "proxy_anchor": {60}}
    for name, search in loaded.searches.items():
        if search.strategy.name == "coordinate":
            spec = searches.search_facts(loaded, name)["trial_specs"][0]
            start = searches.starting_values(spec, search.parameters)
            start |= search.strategy.hyperparameters.get("start", {})
            assert trials_of_a_pass(search.parameters, start) == search.budget


def digests(folder):
    """Identity and digest of the trials of one search, as the folder has it."""
    facts = searches.search_facts(plan.reload(CONFIGURATION, folder), NAME)
    return searches.identity(facts), searches.trials_digest(facts)


@pytest.mark.parametrize(
    ("change", "other_search", "other_trials"),
    [
        (lambda search: search.update(title="Another title"), False, False),
        (lambda search: search["parameters"]["loss.alpha"].update(title="a"), False, False),
        (lambda search: search.update(workers=1), False, False),
        (lambda search: search.update(budget=200), True, False),
        (lambda search: search.update(most_failed=0.9), True, False),
        (lambda search: search.update(set={"epochs": 21}), True, True),
        (lambda search: search.update(pruner="median"), True, True),
        (lambda search: search.update(folds=[0, 1], run=search["run"] | TEN), True, True),
        (lambda search: search["strategy"].update(passes=2), True, True),
        (lambda search: search["run"].update(seed=1), True, True),
        (lambda search: search["parameters"]["loss.alpha"].update(step=4), True, True),
        (lambda search: search.update(parameters=turned(search["parameters"])), True, True),
    ],
)
def test_what_a_search_and_its_trials_are_known_by(folder, change, other_search, other_trials):
    before = digests(folder)
    path = folder / "searches.yaml"
    values = yaml.safe_load(path.read_text())[NAME]
    change(values)
    path.write_text(yaml.safe_dump({NAME: values}, sort_keys=False))
    after = digests(folder)
    assert (after[0] != before[0], after[1] != before[1]) == (other_search, other_trials)


def turned(parameters):
    """The same parameters in the opposite order, in which a coordinate search takes them."""
    return dict(reversed(parameters.items()))


def test_what_is_added_to_the_facts_counts(loaded):
    facts = searches.search_facts(loaded, NAME)
    more = facts | {"data": "cub200-01234567"}
    assert searches.identity(more) != searches.identity(facts)
    assert searches.trials_digest(more) != searches.trials_digest(facts)


def test_each_fold_has_a_spec_of_its_own(folder):
    path = folder / "searches.yaml"
    values = yaml.safe_load(path.read_text())[NAME] | {"folds": [2, 0]}
    values["run"] |= TEN
    path.write_text(yaml.safe_dump({NAME: values}, sort_keys=False))
    two = searches.search_facts(plan.load(CONFIGURATION, folder), NAME)["trial_specs"]
    assert [spec["fold"] for spec in two] == [2, 0]
    assert {**two[0], "fold": 0} == two[1]
    for spec in two:
        assert Spec.model_validate(spec).known == spec


def test_a_rehearsal_shortens_searches(loaded):
    rehearsal = yaml.safe_load((CONFIG / "rehearsal.yaml").read_text())
    short = plan.reload(CONFIGURATION | rehearsal, CONFIG).searches
    assert list(short) == list(loaded.searches)
    for search in short.values():
        lists = [each.values for each in search.parameters.values() if each.values is not None]
        assert all(len(values) == 2 for values in lists)
        budget = 10 if search.strategy.name == "coordinate" else 2
        assert (search.budget, search.workers, search.most_failed) == (budget, 1, 1)


def test_a_rehearsal_shortens_a_search_and_keeps_what_its_trials_are(loaded):
    search = loaded.searches["proxy_anchor_tpe"].model_copy(
        update={
            "set": {"epochs": 20, "regularizers": [{"name": "rho"}]},
            "folds": [3, 1, 0, 2],
            "parameters": {
                "miner": Parameter(choices=["hard", "semi_hard", "soft_hard", "random"]),
                "optimizer.learning_rate": Parameter(low=1e-5, high=0.1, log=True),
                "loss.proxies": Parameter(low=1, high=9, integer=True),
            },
        }
    )
    shorter = SearchRehearsal(values=2, budget=10)
    toy = Rehearsal.model_construct(folds=2, searches=shorter, set={"epochs": 2})
    short = searches.rehearsed(search, toy)
    assert short.folds == [3, 1]
    assert short.set == {"regularizers": [{"name": "rho"}]}
    assert short.parameters["miner"].values == ("hard", "random")
    for place in ("optimizer.learning_rate", "loss.proxies"):
        assert short.parameters[place] == search.parameters[place]


def test_values_are_laid_over_a_spec_in_any_order():
    spec = {"loss": {"name": "triplet", "margin": 0.2}, "miner": None, "epochs": 3}
    values = {"loss.alpha": 2, "miner": "hard", "loss.name": "circle", "epochs": 4}
    expected = {"loss": {"name": "circle", "alpha": 2}, "miner": "hard", "epochs": 4}
    assert with_values(spec, values) == expected
    assert with_values(spec, dict(reversed(values.items()))) == expected
    assert spec["loss"] == {"name": "triplet", "margin": 0.2}


RUN = {"dataset": ["cub200", "sop"], "method": ["margin", "triplet"], "seed": 0}


def test_lists_of_a_run_are_searches_of_their_own():
    entry = {"title": "{method} on {dataset}", "run": RUN, "budget": 3}
    found = expanded({"{dataset}_{method}": entry, "other": {"budget": 1}})
    assert list(found) == ["cub200_margin", "cub200_triplet", "sop_margin", "sop_triplet", "other"]
    assert found["sop_margin"] == {
        "title": "margin on sop",
        "run": {"dataset": "sop", "method": "margin", "seed": 0},
        "budget": 3,
    }
    assert found["other"] == {"budget": 1}


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"{dataset}": {"run": RUN}}, "one name for 4 searches"),
        ({"{dataset}": {"run": RUN | {"also": 3}}}, "run.also is 3; allowed: keys of run, changed"),
        ({"{loss}": {"run": RUN}}, "braces around 'loss'; allowed: a key of run"),
        ({"{dataset.x}": {"run": RUN}}, "braces around"),
        (
            {"{dataset}": {"run": {"dataset": ["sop"]}}, "sop": {"run": {}}},
            "a second search sop; allowed: names that differ",
        ),
    ],
)
def test_searches_with_equal_names_are_refused(folder, entries, message):
    (folder / "searches.yaml").write_text(yaml.safe_dump(entries))
    with pytest.raises(UserError, match=message) as error:
        plan.load(CONFIGURATION, folder)
    assert "\n" not in str(error.value)


def test_trials_of_the_configuration_leave_coordinate_searches_alone(folder):
    fewer = plan.reload(CONFIGURATION | {"search_trials": 7}, folder).searches
    assert fewer["multi_similarity_tpe"].budget == 7
    assert fewer[NAME].budget == 119
