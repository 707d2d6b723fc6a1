"""The rooms of the plan: no room imports one that comes after it."""

import ast

import pytest
from project import REPOSITORY

PLAN = REPOSITORY / "workflow" / "scripts" / "dmlbench" / "plan"
ROOMS = ["catalogs", "studies", "specs", "views", "graph", "costs", "records", "new_studies"]
LOADED = {"catalogs", "studies", "specs", "views"}
"""What `plan.load` imports; only a room after them may import it."""


def _imported(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dmlbench.plan"):
            yield from (f"{node.module}.{alias.name}".split(".")[2] for alias in node.names)


def test_every_folder_is_a_room():
    assert {folder.parent.name for folder in PLAN.glob("*/__init__.py")} == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_no_later_one(room):
    later = set(ROOMS[ROOMS.index(room) + 1 :]) | ({"load"} if room in LOADED else set())
    wrong = {
        file.name: found
        for file in (PLAN / room).glob("*.py")
        if (found := later & {*_imported(file)})
    }
    assert not wrong
