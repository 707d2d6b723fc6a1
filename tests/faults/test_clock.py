"""No decision depends on the time of day: a clock that jumps changes no result."""

import ast
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow" / "scripts"
# Functions that read the time of day or file dates; time.monotonic and time.sleep do not jump.
CLOCKS = {
    "time.time", "time.time_ns", "time.localtime", "time.gmtime", "time.strftime", "time.ctime",
    "datetime.now", "datetime.utcnow", "datetime.today", "date.today", "os.path.getmtime",
    "os.path.getctime", "os.path.getatime",
}  # fmt: skip
DATES = ("st_mtime", "st_ctime", "st_atime", "st_birthtime")


def clocks(source: str) -> list[str]:
    """Where a source reads the time of day, or the date of a file."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            if node.attr.startswith(DATES) or any(name.endswith(clock) for clock in CLOCKS):
                found.append(f"{node.lineno}: {name}")
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            found += [f"{node.lineno}: from time import {alias.name}" for alias in node.names]
    return found


MAY = {
    # It only checks whether a date has changed.
    SCRIPTS / "dmlbench" / "plan" / "contents.py",
    # It only checks whether a log is newer than the start of the current call.
    SCRIPTS / "dmlbench" / "plan" / "progress.py",
}


@pytest.mark.parametrize(
    "path",
    sorted({*SCRIPTS.rglob("*.py")} - MAY),
    ids=lambda path: path.relative_to(SCRIPTS).as_posix(),
)
def test_no_code_reads_the_time_of_day(path):
    assert clocks(path.read_text()) == []


@pytest.mark.parametrize(
    "source",
    ["time.time()", "datetime.datetime.now()", "path.stat().st_mtime_ns", "from time import time"],
)
def test_the_search_finds_each_kind(source):
    assert len(clocks(source)) == 1
