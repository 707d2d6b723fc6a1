"""Strategies against functions whose optimum is known."""

import pytest
from boards import OPTIMUM, PARAMETERS, START, Function, board, search, strategy
from dmlbench.plan.searches import Parameter, trials_of_a_pass
from dmlbench.search.trials import best_of, values_of
from dmlbench.search.worker import work
from dmlbench.training.watch import NonFiniteLossError
from hypothesis import given, settings
from hypothesis import strategies as st

MARGIN, ALPHA, FACTOR = PARAMETERS


def test_coordinate_goes_over_one_parameter_after_the_other(tmp_path):
    shared, objective = search(tmp_path, "coordinate")
    margins = [START | {MARGIN: value} for value in PARAMETERS[MARGIN].values]
    alphas = [
        START | {MARGIN: 0.3, ALPHA: value} for value in PARAMETERS[ALPHA].values if value != 16
    ]
    factors = [OPTIMUM | {FACTOR: value} for value in PARAMETERS[FACTOR].values]
    assert objective.evaluated == margins + alphas + factors
    assert len(objective.evaluated) == trials_of_a_pass(PARAMETERS, START) == 11 + 9 + 4
    assert values_of(best_of(shared.trials()), PARAMETERS) == OPTIMUM


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
        # The start counts for less than any value of the range: it is given up for one of them.
        if start[place] not in parameter.values:
            table[place][start[place]] = -1
    return parameters, start, table


@settings(max_examples=40, deadline=None)
@given(functions())
def test_coordinate_finds_the_optimum_of_a_separable_function(tmp_path_factory, case):
    parameters, start, table = case
    objective = Function(lambda values: sum(table[place][values[place]] for place in values))
    shared = board(tmp_path_factory.mktemp("search"), parameters=parameters)
    work(shared, strategy("coordinate", parameters, start), objective)
    best = {place: max(table[place], key=table[place].get) for place in parameters}
    assert values_of(best_of(shared.trials()), parameters) == best
    assert len(objective.evaluated) == trials_of_a_pass(parameters, start)


def test_a_further_pass_tries_only_what_is_new(tmp_path):
    def skewed(values):
        return -abs(values[MARGIN] * 20 - values[ALPHA])

    _, once = search(tmp_path / "once", "coordinate", Function(skewed))
    _, twice = search(tmp_path / "twice", "coordinate", Function(skewed), passes=2)
    assert twice.evaluated[: len(once.evaluated)] == once.evaluated
    tried = [tuple(values.values()) for values in twice.evaluated]
    assert len(tried) == len(set(tried)) > len(once.evaluated)


def test_coordinate_starts_where_it_is_told_to(tmp_path):
    _, objective = search(tmp_path, "coordinate", start={ALPHA: 4})
    assert objective.evaluated[0] == START | {MARGIN: 0.0, ALPHA: 4}


def test_coordinate_passes_over_values_that_failed(tmp_path):
    def fails_at_large_margins(values):
        if values[MARGIN] > 0.5:
            raise NonFiniteLossError("loss is nan")
        return values[MARGIN] + values[FACTOR]

    shared, _ = search(tmp_path, "coordinate", Function(fails_at_large_margins))
    best = values_of(best_of(shared.trials()), PARAMETERS)
    assert (best[MARGIN], best[FACTOR]) == (0.5, 2)


@pytest.mark.parametrize("name", ["tpe", "random"])
def test_one_worker_and_one_seed_give_one_sequence(tmp_path, name):
    _, first = search(tmp_path / "first", name, budget=25)
    _, again = search(tmp_path / "again", name, budget=25)
    _, other = search(tmp_path / "other", name, budget=25, seed=1)
    assert first.evaluated == again.evaluated
    assert first.evaluated != other.evaluated


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


def test_tpe_learns_and_random_does_not(tmp_path):
    """Mean score of the last trials, over seeds: TPE's gather around the optimum."""

    def late(name):
        scores = []
        for seed in range(5):
            shared, _ = search(tmp_path / f"{name}{seed}", name, budget=40, seed=seed)
            scores += [trial.value for trial in shared.trials()[20:]]
        return sum(scores) / len(scores)

    assert late("tpe") > late("random") + 0.2
