"""The statements of docs/ on files and how to read them are true."""

import re
from pathlib import Path

import pytest
from dmlbench.data.index import SCHEMA as IMAGES
from dmlbench.data.split import SCHEMA as SPLIT
from dmlbench.statistics.aggregation import SCHEMA, SCORES
from dmlbench.statistics.classes import SCHEMA as CLASSES
from invented import invent

DOCS = Path(__file__).parents[2] / "docs"
TYPES = {"int64": "n", "int32": "n32", "string": "", "double": "x"}

SCHEMAS = {
    "data/<data>/images.parquet": IMAGES,
    "data/<data>/splits/<split>.parquet": SPLIT,
    "runs/<run>/scores.parquet": SCORES,
    "studies/<study>/scores.parquet": SCHEMA,
    "studies/<study>/classes.parquet": CLASSES,
}


def documented(file: str) -> dict[str, str]:
    """Column -> type, from the table of columns in docs/files.md."""
    columns = (DOCS / "files.md").read_text().partition("## Columns")[2]
    line = next(line for line in columns.splitlines() if line.startswith(f"| `{file}` |"))
    cells = line.split("|")[2].partition(";")[0]
    return dict(re.findall(r"(\w+)(?: \*(\w+)\*)?(?:,|\s*$)", cells))


@pytest.mark.parametrize("file", SCHEMAS)
def test_columns_and_types_are_those_of_the_files(file):
    said = documented(file)
    assert list(said) == SCHEMAS[file].names
    assert said == {field.name: TYPES[str(field.type)] for field in SCHEMAS[file]}


def test_the_lines_for_pandas_run(tmp_path, monkeypatch, capsys):
    invent("demo", tmp_path / "results", figures=False)
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "reading.md").read_text()
    (lines,) = re.findall(r"```python\n(import pandas.*?)```", page, re.DOTALL)
    exec(compile(lines, "reading.md", "exec"), {})  # noqa: S102 (our own documentation)
    shown = capsys.readouterr().out
    assert "multi_similarity" in shown
    assert "hit" in shown
