"""docs/map.md has the way of an image that rules, scripts and library take now."""

import pytest
from dmlbench.marked_text import read_marked
from dmlbench.plan.sources import SCRIPTS, imported
from project import script_of_docs


@pytest.fixture(scope="module")
def from_rules():
    return script_of_docs("from_rules")


def test_the_tables_are_those_of_the_rules(from_rules):
    written = read_marked(from_rules.PAGE, "from_rules")
    assert written == from_rules.tables(), "rules or scripts have changed: `make map`"


def test_every_script_is_on_the_page(from_rules):
    page = from_rules.PAGE.read_text()
    scripts = {file.name for file in SCRIPTS.glob("*.py")}
    assert {name for name in scripts if f"workflow/scripts/{name})" in page} == scripts


def test_a_step_runs_the_modules_that_it_is_said_to(from_rules):
    for rule, modules in from_rules.INSIDE.items():
        files = imported(SCRIPTS / f"{rule}.py")
        assert {SCRIPTS / "dmlbench" / f"{module}.py" for module in modules.split()} <= files


def test_the_page_fits_on_a_screen(from_rules):
    assert len(from_rules.PAGE.read_text().splitlines()) <= 60
