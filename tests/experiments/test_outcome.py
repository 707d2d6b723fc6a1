"""The files of an experiment: their columns, their defaults, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from dmlbench import registry
from dmlbench.errors import UserError
from dmlbench.experiments import Outcome, available, build_experiment, run_experiment, write_outcome

COLUMNS = ["dataset", "network", "embedding_dim", "method", "recipe", "variant", "split", "fold"]
COLUMNS += ["role", "selection", "metric", "value"]


def written(tmp_path, table, arrays=None):
    write_outcome(Outcome(table, arrays or {}), table=tmp_path / "t", arrays=tmp_path / "a")
    return pd.read_parquet(tmp_path / "t")


def test_missing_columns_get_their_defaults(tmp_path):
    table = written(tmp_path, pd.DataFrame({"metric": ["nmi"], "value": [0.5], "method": "m"}))
    assert list(table.columns) == COLUMNS
    [row] = table.to_dict("records")
    texts = dict.fromkeys(("dataset", "network", "recipe", "variant", "split", "fold"), "")
    given = {"method": "m", "metric": "nmi", "value": 0.5}
    assert row == texts | given | {"embedding_dim": 0, "role": "test", "selection": "none"}


def test_arrays_come_back(tmp_path):
    arrays = {"points": np.arange(6.0).reshape(3, 2), "labels": np.array([0, 0, 1])}
    written(tmp_path, pd.DataFrame({"metric": ["nmi"], "value": [0.5]}), arrays)
    with np.load(tmp_path / "a") as read:
        assert sorted(read) == ["labels", "points"]
        np.testing.assert_array_equal(read["points"], arrays["points"])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"metric": ["nmi"], "value": [0.5], "methd": ["m"]}, "did you mean 'method'"),
        ({"metric": ["nmi"]}, "no column value"),
        ({"metric": ["nmi", "nmi"], "value": [0.5, 0.6]}, "two rows for one value .*metric nmi"),
    ],
)
def test_a_wrong_table_is_refused_and_nothing_is_written(tmp_path, table, message):
    with pytest.raises(UserError, match=message):
        written(tmp_path, pd.DataFrame(table))
    assert not list(tmp_path.iterdir())


def test_an_unknown_experiment_or_option_is_one_line(tmp_path):
    files = {"table": tmp_path / "t", "arrays": tmp_path / "a", "threads": 1}
    with pytest.raises(UserError, match="did you mean 'toy_spaces'"):
        run_experiment("toy_space", {}, 0, **files)
    with pytest.raises(UserError, match="allowed: samples, spread"):
        run_experiment("toy_spaces", {"sample": 3}, 0, **files)


@pytest.mark.parametrize("name", available())
def test_the_same_seed_gives_the_same_files_whatever_was_drawn_before(name, tmp_path, small):
    import torch

    found = []
    for attempt in range(2):
        torch.rand(attempt)
        table, arrays = tmp_path / f"{attempt}.parquet", tmp_path / f"{attempt}.npz"
        run_experiment(name, small[name], 3, table=table, arrays=arrays, threads=1)
        with np.load(arrays) as read:
            found.append((table.read_bytes(), {key: read[key] for key in read}))
    (table, arrays), (again, arrays_again) = found
    assert table == again
    assert arrays.keys() == arrays_again.keys()
    for key, array in arrays.items():
        np.testing.assert_array_equal(array, arrays_again[key])


@pytest.mark.parametrize("name", available())
def test_methods_and_metrics_are_those_that_the_file_declares(name, small):
    """The plan reads them, to check views before the experiment runs."""
    found = build_experiment(name, **small.get(name, {})).run(0).table
    assert set(found.metric) == set(registry.constant("experiments", name, "METRICS"))
    methods = registry.constant("experiments", name, "METHODS")
    assert methods is None or set(found.method) == set(methods)
