"""best.yaml: what is written is read back exactly, and without heavy imports."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from dmlbench.errors import UserError
from dmlbench.search.best import Best, read_best, write_best
from hypothesis import example, given
from hypothesis import strategies as st

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow" / "scripts"
VALUES = st.one_of(
    st.booleans(),
    st.integers(-(2**60), 2**60),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), max_size=10),
)


def best(values):
    return Best(
        search="mine",
        metric="recall_at_1",
        validation=0.75,
        trial=3,
        trials={"complete": 4, "failed": 1},
        values=values,
    )


@example({"loss.margin": "0E0"})
@given(st.dictionaries(st.sampled_from(["loss.margin", "epochs", "miner.name"]), VALUES))
def test_values_are_read_as_they_were_written(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("best") / "best.yaml"
    write_best(path, best(values))
    read = read_best(path)
    assert read == values
    assert list(map(type, read.values())) == list(map(type, values.values()))


def test_a_person_can_read_it(tmp_path):
    write_best(tmp_path / "best.yaml", best({"loss.margin": 1e-5, "miner": "hard"}))
    assert (tmp_path / "best.yaml").read_text() == (
        "search: mine\n"
        "metric: recall_at_1\n"
        "validation: 0.75\n"
        "trial: 3\n"
        "trials:\n"
        "  complete: 4\n"
        "  failed: 1\n"
        "values:\n"
        "  loss.margin: 1.0e-05\n"
        "  miner: hard\n"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "no such file"),
        ("search: mine\n", "metric: is missing"),
        ("search: [", "not YAML"),
        ("", "is empty; allowed: YAML"),
    ],
)
def test_a_damaged_file_is_named_in_one_line(tmp_path, text, problem):
    path = tmp_path / "best.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match=problem) as error:
        read_best(path)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


def test_reading_it_loads_neither_torch_nor_optuna(tmp_path):
    write_best(tmp_path / "best.yaml", best({"epochs": 2}))
    code = """
import sys
from dmlbench.search.best import read_best
assert read_best(sys.argv[1]) == {"epochs": 2}
print([name for name in ("torch", "optuna", "pandas") if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "best.yaml"],
        env=os.environ | {"PYTHONPATH": str(SCRIPTS)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"
