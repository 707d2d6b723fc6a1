"""No decision depends on the time of day: a clock that jumps changes no result.

`ruff check` refuses the functions that read it (tests/security/test_code.py).
"""

import itertools
import re
import time
from pathlib import Path

from dmlbench.training import loop
from safetensors.torch import load_file
from toy_training import VALUES, equal, outputs

LIBRARY = Path(loop.__file__).resolve().parents[1]
DATES = re.compile(r"\bst_(?:[mca]|birth)time")


def test_dates_of_files_are_read_in_four_places():
    """Two only check whether a date has changed, one whether a log is of the current call.

    The fourth notices code that is edited during a call: its results are then of unknown code.
    """
    found = {file for file in LIBRARY.parent.rglob("*.py") if DATES.search(file.read_text())}
    places = ["plan/specs/contents.py", "plan/costs/progress.py", "provenance.py", "job.py"]
    assert found == {LIBRARY / place for place in places}


def trained(folder, data):
    files = {"device": "cpu", "threads": 1, **outputs(folder)}
    loop.train(VALUES | {"epochs": 2}, **data.as_arguments(), **files)
    return load_file(folder / "last.safetensors")


def test_a_clock_that_jumps_changes_no_training(tmp_path, toy_data, monkeypatch):
    steady, jumps = trained(tmp_path / "steady", toy_data), itertools.count()
    monkeypatch.setattr(time, "time", lambda: 1e9 * (-1) ** next(jumps))
    monkeypatch.setattr(time, "time_ns", lambda: 10**18 * (-1) ** next(jumps))
    assert equal(trained(tmp_path / "jumping", toy_data), steady)
