"""docs/faults.md shows the table of the last run of the fault lab, in which no fault was silent."""

import json
import re

from fault_kinds import KINDS
from lab import OUTPUT, table
from project import REPOSITORY

PAGE = REPOSITORY / "docs" / "faults.md"


def test_the_page_has_the_table_and_no_fault_was_silent():
    rows = json.loads(OUTPUT.read_text())["rows"]
    assert table(rows) in PAGE.read_text()
    assert [row["kind"] for row in rows] == list(KINDS)
    assert all(row["injected"] > 0 == row["silent"] for row in rows)


def test_the_tests_that_the_page_names_are_there():
    named = re.findall(r"tests/[\w/]+(?:\.py)?", PAGE.read_text())
    assert len(named) > 40
    assert [name for name in named if not (REPOSITORY / name).exists()] == []
