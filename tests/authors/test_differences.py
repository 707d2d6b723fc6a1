"""Each difference from the authors' code is corrected, a variant, or named with its size."""

from pathlib import Path

import pytest
import yaml
from dmlbench.plan.places import place_value
from dmlbench.plan.where import Where
from project import REPOSITORY, every_study

DIFFERENCES = yaml.safe_load((Path(__file__).parent / "differences.yaml").read_text())
EACH = [(study, what) for study, found in DIFFERENCES.items() for what in found]


@pytest.mark.parametrize(("study", "what"), EACH)
def test_the_protocol_page_names_it(study, what):
    text = (REPOSITORY / "docs" / f"{study}.md").read_text()
    assert DIFFERENCES[study][what]["says"] in " ".join(text.split())


@pytest.mark.parametrize(("study", "what"), EACH)
def test_what_is_corrected_or_a_variant_is_planned(study, what):
    loaded = every_study()
    difference = DIFFERENCES[study][what]
    for answer in {"corrected", "variant"} & difference.keys():
        found = difference[answer]
        specs = [loaded.spec(row) for row in loaded.rows(study, Where(**found["rows"]))]
        assert specs
        for spec in specs:
            values = spec.as_dict()
            assert {place: place_value(values, place) for place in found["values"]} == found[
                "values"
            ]


def test_every_measured_difference_is_here(shared):
    """The list of what was measured has a row for each, in tables by study."""
    sections = (shared / "studies" / "code.md").read_text().split("\n## ")
    for section in sections[1:]:
        study = section.split()[0].rstrip(",")
        rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
        if rows:
            assert len(DIFFERENCES[study]) == len(rows), study
