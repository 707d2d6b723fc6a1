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
TYPES = {"int64": "whole", "int32": "whole, 32 bits", "string": "text", "double": "floating point"}

SCHEMAS = {
    "data/<data>/images.parquet": IMAGES,
    "data/<data>/splits/<split>.parquet": SPLIT,
    "runs/<run>/scores.parquet": SCORES,
    "studies/<study>/scores.parquet": SCHEMA,
    "studies/<study>/classes.parquet": CLASSES,
}


def documented(file: str) -> dict[str, str]:
    """Column -> type, from the table of columns in docs/files.md."""
    line = next(
        line
        for line in (DOCS / "files.md").read_text().splitlines()
        if line.startswith(f"| `{file}` |") and "(text)" in line
    )
    cells = line.split("|")[2].split(";")[0]
    found, waiting = {}, []
    for names, kind in re.findall(r"([\w, ]+) \(([^);]*)", cells):
        waiting = [name.strip() for name in names.split(",") if name.strip()]
        found |= dict.fromkeys(waiting, kind)
    return found


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


def test_the_shares_of_printed_variance_are_what_the_lines_print(monkeypatch, capsys):
    monkeypatch.chdir(DOCS.parent)
    page = (DOCS / "roth2020.md").read_text()
    (lines, said) = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL).groups()
    exec(compile(lines, "roth2020.md", "exec"), {})  # noqa: S102 (our own documentation)
    assert capsys.readouterr().out == said
