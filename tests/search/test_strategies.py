"""Strategies against functions whose optimum is known."""

import pytest
from dmlbench.plan.catalogs.ranges import Parameter
from dmlbench.plan.views.search_checks import trials_of_a_pass
from dmlbench.search.distributions import values_of
from dmlbench.search.trials import best_of
from dmlbench.search.worker import work
from dmlbench.training.watch import LossError
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_search import OPTIMUM, PARAMETERS, START, Function, open_trials, search, strategy

MARGIN, ALPHA, FACTOR = PARAMETERS


def test_coordinate_goes_over_one_parameter_after_the_other(tmp_path):
    trials, objective = search(tmp_path, "coordinate")
    margins = [START | {MARGIN: value} for value in PARAMETERS[MARGIN].values]
    alphas = [
        START | {MARGIN: 0.3, ALPHA: value} for value in PARAMETERS[ALPHA].values if value != 16
    ]
    factors = [OPTIMUM | {FACTOR: value} for value in PARAMETERS[FACTOR].values]
    assert objective.evaluated == margins + alphas + factors
    assert len(objective.evaluated) == trials_of_a_pass(PARAMETERS, START) == 11 + 9 + 4
    assert values_of(best_of(trials.get()), PARAMETERS) == OPTIMUM


@st.composite
def functions(draw):
    """A grid, a start on it or off it, and a separable function with distinct values."""
    parameters, start, table = {}, {}, {}
    for place in ("loss.margin", "loss.alpha", "miner.epsilon")[: draw(st.integers(1, 3))]:
        steps = draw(st.integers(1, 5))
        parameter = Parameter(low=0, high=steps, step=1, open=steps > 1 and draw(st.booleans()))
        parameters[place] = parameter
        start[place] = draw(st.sampled_from([*parameter.values, 0.5]))
        points = dict.fromkeys([*parameter.values, start[place]])
        scores = draw(st.permutations(range(len(points))))
        table[place] = dict(zip(points, scores, strict=True))
        # The start scores less than any value of the range, so one of these replaces it.
        if start[place] not in parameter.values:
            table[place][start[place]] = -1
    return parameters, start, table


@settings(max_examples=40, deadline=None)
@given(functions())
def test_coordinate_finds_the_optimum_of_a_separable_function(tmp_path_factory, case):
    parameters, start, table = case
    objective = Function(lambda values: sum(table[place][values[place]] for place in values))
    trials = open_trials(tmp_path_factory.mktemp("search"), parameters=parameters)
    work(trials, strategy("coordinate", parameters, start), objective)
    best = {place: max(table[place], key=table[place].get) for place in parameters}
    assert values_of(best_of(trials.get()), parameters) == best
    assert len(objective.evaluated) == trials_of_a_pass(parameters, start)


def test_a_further_pass_tries_only_what_is_new(tmp_path):
    def skewed(values):
        return -abs(values[MARGIN] * 20 - values[ALPHA])

    _, once = search(tmp_path / "once", "coordinate", Function(skewed))
    _, twice = search(tmp_path / "twice", "coordinate", Function(skewed), passes=2)
    assert twice.evaluated[: len(once.evaluated)] == once.evaluated
    tried = [tuple(values.values()) for values in twice.evaluated]
    assert len(tried) == len(set(tried)) > len(once.evaluated)


def test_coordinate_starts_where_configured(tmp_path):
    _, objective = search(tmp_path, "coordinate", start={ALPHA: 4})
    assert objective.evaluated[0] == START | {MARGIN: 0.0, ALPHA: 4}


def test_coordinate_passes_over_values_that_failed(tmp_path):
    def fails_at_large_margins(values):
        if values[MARGIN] > 0.5:
            raise LossError("loss is nan")
        return values[MARGIN] + values[FACTOR]

    trials, _ = search(tmp_path, "coordinate", Function(fails_at_large_margins))
    best = values_of(best_of(trials.get()), PARAMETERS)
    assert (best[MARGIN], best[FACTOR]) == (0.5, 2)


@pytest.mark.parametrize("name", ["tpe", "random"])
def test_one_worker_and_one_seed_give_one_sequence(tmp_path, name):
    _, first = search(tmp_path / "first", name, budget=25)
    _, again = search(tmp_path / "again", name, budget=25)
    _, other = search(tmp_path / "other", name, budget=25, seed=1)
    assert first.evaluated == again.evaluated
    assert first.evaluated != other.evaluated


@pytest.mark.parametrize("name", ["tpe", "random"])
def test_searches_share_their_first_draws_unless_they_draw_their_own(tmp_path, name):
    def first_draws(folder, **options):
        return search(tmp_path / folder, name, budget=4, **options)[1].evaluated

    assert first_draws("birds", search="birds") == first_draws("cars", search="cars")
    own = first_draws("own", search="birds", own_draws=True)
    assert own == first_draws("again", search="birds", own_draws=True)
    others = first_draws("others", search="cars", own_draws=True)
    assert not any(values in others for values in own)


@pytest.mark.parametrize("name", ["tpe", "random"])
def test_a_sequence_continues_as_if_it_had_not_stopped(tmp_path, name):
    _, whole = search(tmp_path / "whole", name, budget=25)
    _, part = search(tmp_path / "parts", name, budget=12)
    _, rest = search(tmp_path / "parts", name, budget=25)
    assert part.evaluated + rest.evaluated == whole.evaluated


def test_values_stay_on_the_grid(tmp_path):
    for name in ("tpe", "random"):
        _, objective = search(tmp_path / name, name, budget=30)
        for values in objective.evaluated:
            assert list(values) == list(PARAMETERS)
            assert all(values[place] in PARAMETERS[place].values for place in values)
        assert {type(values[ALPHA]) for values in objective.evaluated} == {int}


KINDS = {
    "optimizer.learning_rate": Parameter(low=1e-5, high=1e-1, log=True),
    "loss.margin": Parameter(low=0.1, high=0.7),
    "loss.proxies": Parameter(low=1, high=1000, integer=True, log=True),
    "sampler.classes": Parameter(low=2, high=5, integer=True),
    "miner": Parameter(choices=["hard", "semi_hard", "soft_hard"]),
    "loss.scale": Parameter(choices=[1, 0.1, 1.0e-7]),
    "balanced": Parameter(choices=[True, False]),
    "epochs": Parameter(low=10, high=30, step=10),
}


def score_of_kinds(values):
    return values["loss.margin"] + values["balanced"] - values["loss.scale"]


@pytest.mark.parametrize("name", ["tpe", "random"])
def test_every_kind_of_range_is_drawn_and_kept_exactly(tmp_path, name):
    objective = Function(score_of_kinds)
    for budget in (6, 40):
        trials = open_trials(tmp_path, budget, parameters=KINDS)
        work(trials, strategy(name, KINDS, {}, seed=3), objective)
    for values in objective.evaluated:
        assert list(values) == list(KINDS)
        for place, parameter in KINDS.items():
            value = values[place]
            if parameter.values is not None:
                exact = [other for other in parameter.values if other == value]
                assert [type(value)] == [type(other) for other in exact]
            else:
                assert parameter.low <= value <= parameter.high
                assert type(value) is (int if parameter.integer else float)
    kept = open_trials(tmp_path, parameters=KINDS).get()
    assert [values_of(trial, KINDS) for trial in kept] == objective.evaluated
    whole = Function(score_of_kinds)
    at_once = open_trials(tmp_path / "at once", 40, parameters=KINDS)
    work(at_once, strategy(name, KINDS, {}, seed=3), whole)
    assert whole.evaluated == objective.evaluated


@pytest.mark.slow
def test_random_draws_are_even_on_the_scale_that_is_asked_for(tmp_path):
    """Of 100 draws about half are below the middle of the scale: within six standard deviations."""
    objective = Function(lambda values: 0.0)
    trials = open_trials(tmp_path, 100, parameters=KINDS)
    work(trials, strategy("random", KINDS, {}), objective)
    middles = {
        "optimizer.learning_rate": 1e-3,
        "loss.margin": 0.4,
        "loss.proxies": 1000**0.5,
        "sampler.classes": 3.5,
    }
    for place, middle in middles.items():
        below = sum(values[place] < middle for values in objective.evaluated)
        assert 20 < below < 80, place
    for place in ("miner", "loss.scale", "balanced", "epochs"):
        assert {values[place] for values in objective.evaluated} == set(KINDS[place].values)


def test_coordinate_goes_over_choices_and_may_start_at_another(tmp_path):
    parameters = {
        "miner": Parameter(choices=["hard", "semi_hard"]),
        "scaled": Parameter(choices=[True, False]),
    }
    scores = {"all": 0, "hard": 1, "semi_hard": 2, True: 0.1, False: 0.2}
    objective = Function(lambda values: sum(scores[value] for value in values.values()))
    trials = open_trials(tmp_path, parameters=parameters)
    start = {"miner": "all", "scaled": True}
    work(trials, strategy("coordinate", parameters, start, passes=2), objective)
    assert [tuple(values.values()) for values in objective.evaluated] == [
        ("hard", True),
        ("semi_hard", True),
        ("semi_hard", False),
        ("hard", False),
    ]
    reopened = open_trials(tmp_path, parameters=parameters)
    best = {"miner": "semi_hard", "scaled": False}
    assert values_of(best_of(reopened.get()), parameters) == best


def test_coordinate_starts_from_a_choice_that_is_not_searched(tmp_path):
    parameters = {
        "loss.margin": Parameter(low=0, high=1, step=1),
        "miner": Parameter(choices=["hard", "semi_hard"]),
    }
    objective = Function(lambda values: values["loss.margin"] + len(values["miner"]))
    trials = open_trials(tmp_path, parameters=parameters)
    work(trials, strategy("coordinate", parameters, {"loss.margin": 0, "miner": "all"}), objective)
    kept = [
        values_of(trial, parameters) for trial in open_trials(tmp_path, parameters=parameters).get()
    ]
    assert kept == objective.evaluated
    assert [values["miner"] for values in kept] == ["all", "all", "hard", "semi_hard"]


@pytest.mark.slow
def test_tpe_learns_and_random_does_not(tmp_path):
    """Mean score of the last trials, over seeds: TPE's gather around the optimum."""

    def late(name):
        scores = []
        for seed in range(5):
            trials, _ = search(tmp_path / f"{name}{seed}", name, budget=40, seed=seed)
            scores += [trial.value for trial in trials.get()[20:]]
        return sum(scores) / len(scores)

    assert late("tpe") > late("random") + 0.2


def test_of_equal_trials_the_first_is_the_best(tmp_path):
    trials, _ = search(tmp_path, "coordinate", Function(lambda values: 1.0), budget=4)
    assert best_of(trials.get()).number == 0
    assert best_of(trials.get()[::-1]).number == 0
