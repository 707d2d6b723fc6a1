"""A coordinate is a field of plan.rows.Row: everything else follows from it."""

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from dmlbench.plan.catalogs.rows import COORDINATES

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPTS = REPOSITORY / "workflow" / "scripts"

LISTED = {
    # What coordinates mean for a run.
    "dmlbench/plan/specs/resolution.py",
    # Headers of the run browser, in its order.
    "dmlbench/presentation/runs.py",
}

EDITS = {
    "plan/catalogs/rows.py": (
        "    seed: NonNegativeInt\n",
        "    seed: NonNegativeInt\n    length: NonNegativeInt = 0\n",
    ),
    "plan/specs/resolution.py": (
        "    return merged(values, recipe.methods.get(row.method, {}))\n",
        "    values |= {'epochs': row.length} if row.length else {}\n"
        "    return merged(values, recipe.methods.get(row.method, {}))\n",
    ),
}
"""A coordinate `length`: file -> line, and what replaces it."""

PROGRAM = """
import json, sys
from pathlib import Path
import pandas as pd
from dmlbench import plan
from dmlbench.plan.specs import grids
from dmlbench.plan.views import views
from dmlbench.plan.studies.mapping import Mapping
from dmlbench.plan.specs.searches import TunedRun
from dmlbench.plan.catalogs.where import Where
from dmlbench.presentation.runs import _COLUMNS
from dmlbench.statistics.aggregation import SCHEMA, row_of
from dmlbench.statistics.placement import KEY

configuration = {"pathvars": {"results": "results"}, "studies": ["demo"]}
loaded = plan.load(configuration, Path(sys.argv[1]))
before = [run.folder for run in loaded.runs("demo")]
grid = loaded.studies["demo"].runs[0].model_dump()
trained = {"method": ["contrastive", "triplet"], "length": [0, 7]}
longer = type(loaded.studies["demo"].runs[0])(**grid | trained)
listed = grids.listed(loaded, longer, "demo", "here")
cell = {"table": "1", "panel": "", "dataset": "a", "network": "b", "embedding_dim": "8"}
cell |= {"method": "c", "variant": "", "split": "test", "metric": "recall_at_1"}
rule = {"when": {}, "then": {"split": "half"}}
place = Mapping(rules=[rule]).place(cell)
print(json.dumps({
    "before": before,
    "rows": len(listed),
    "lengths": sorted({row.length for row in listed}),
    "epochs": sorted({loaded.run(row).spec.epochs for row in listed if row.length}),
    "kept": {loaded.run(row).folder for row in listed if not row.length} < set(before),
    "new": {loaded.run(row).folder for row in listed if row.length}.isdisjoint(before),
    "filtered": sum(Where(length=7).holds(row) for row in listed),
    "label": [row.label for row in listed][-1],
    "type": str(SCHEMA.field("length").type),
    "columns": listed[-1].columns["length"],
    "row": row_of(loaded.rows("demo")[0].columns).length,
    "key": "length" in KEY,
    "place": place.length,
    "header": _COLUMNS["length"],
    "tuned": "length" in TunedRun.model_fields,
}))
"""


@pytest.fixture(scope="module")
def edited(tmp_path_factory):
    """What a library with one more coordinate says."""
    library = tmp_path_factory.mktemp("library") / "dmlbench"
    shutil.copytree(SCRIPTS / "dmlbench", library, ignore=shutil.ignore_patterns("__pycache__"))
    for file, (line, more) in EDITS.items():
        text = (library / file).read_text()
        assert text.count(line) == 1
        (library / file).write_text(text.replace(line, more))
    said = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(REPOSITORY / "config")],
        env={"PYTHONPATH": str(library.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)


@pytest.mark.slow
def test_a_coordinate_takes_two_files_and_trains_nothing_again(edited, demo_folders):
    assert edited["before"] == demo_folders
    assert edited["kept"]
    assert edited["new"]


def test_studies_can_list_and_filter_a_new_coordinate(edited):
    assert edited["lengths"] == [0, 7]
    assert edited["epochs"] == [7]
    assert edited["filtered"] == edited["rows"] / 2
    assert "/7/" in edited["label"]
    assert edited["tuned"]


def test_tables_and_pages_have_a_new_coordinate(edited):
    assert edited["type"] == "int64"
    assert (edited["columns"], edited["row"]) == (7, 0)
    assert edited["key"]
    assert edited["place"] == 0
    assert edited["header"] == "Length"


@pytest.fixture(scope="module")
def demo_folders():
    from dmlbench import plan

    configuration = {"pathvars": {"results": "results"}, "studies": ["demo"]}
    return [run.folder for run in plan.load(configuration, REPOSITORY / "config").runs("demo")]


def test_no_other_module_lists_the_coordinates():
    found = set()
    for file in SCRIPTS.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            parts = getattr(node, "keys" if isinstance(node, ast.Dict) else "elts", [])
            named = {part.value for part in parts if isinstance(part, ast.Constant)}
            if len(named & set(COORDINATES)) >= 5:
                found.add(file.relative_to(SCRIPTS).as_posix())
    assert found == LISTED
