"""docs/protocols.md has the tables that follow from the configuration now."""

import pytest
from dmlbench.marked_text import read_marked
from project import script_of_docs


@pytest.fixture(scope="module")
def from_plan():
    return script_of_docs("from_plan")


@pytest.mark.slow
def test_the_tables_are_those_of_the_configuration(from_plan):
    written = read_marked(from_plan.PAGE, "from_plan")
    assert written == from_plan.tables(), "config/ has changed: `make protocols`"


@pytest.mark.slow
def test_a_fact_that_nothing_decides_is_refused(from_plan):
    rows = from_plan.protocol(from_plan.load_plan(), "psomas2020")
    with pytest.raises(ValueError, match="neither data set nor network"):
        from_plan.by_place(rows, lambda spec: spec.loss.name)
