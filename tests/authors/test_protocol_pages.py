"""What a protocol page may call the same as the authors' code: what is tested, as it is run."""

import re

import pytest
from author_batches import RECORDED
from author_specs import LOSSES, MINERS, STUDIES, UNLIKE, rows_with, spec_of, text_of
from project import REPOSITORY

SAID = re.compile(r"the same \(tested: ([\w ,/]+)\)")
FACTS = UNLIKE | {
    "musgrave2020/pca",
    "psomas2020/batches",
    "roth2020/crops",
    "roth2020/pi",
    "roth2020/runs",
    "roth2020/sampler",
    "roth2020/soft_triple",
}
"""Recorded, with a test of their own."""


def test_everything_recorded_is_tested():
    assert set(RECORDED) == set(LOSSES) | set(MINERS) | FACTS


def said_to_be_the_same(study):
    """Each entry that the study's page calls the same, and whether it says so of a variant."""
    for cell in cells_of(study):
        before = 0
        for said in SAID.finditer(cell):
            words = cell[before : said.start()]
            before = said.end()
            for name in said[1].split(", "):
                yield f"{study}/{name}", "variant" in words or "code" in words


def cells_of(study):
    text = (REPOSITORY / "docs" / f"{study}.md").read_text()
    return [
        cell.strip()
        for line in text.splitlines()
        if line.startswith("|")
        for cell in line.strip("|").split(" | ")
    ]


@pytest.mark.parametrize("study", STUDIES)
def test_a_protocol_page_says_the_same_only_where_it_is_tested(study):
    for cell in cells_of(study):
        if "the same" in cell:
            assert SAID.search(cell), (
                f"{study}.md: {cell!r}: say what is tested, or 'as the text says'"
            )
    page = (REPOSITORY / "docs" / f"{study}.md").read_text()
    assert "Where no test or measurement of the code is named, it was read, not run." in page
    said = dict(said_to_be_the_same(study))
    assert said
    assert set(said) <= set(RECORDED)


@pytest.mark.parametrize("study", ["can2019", "karaman2021"])
def test_a_page_without_public_code_says_as_the_text_says(study):
    assert not [cell for cell in cells_of(study) if re.match(r"the same\b", cell)]


@pytest.mark.parametrize("study", STUDIES)
def test_what_a_page_calls_the_same_without_a_variant_is_what_the_study_runs(loaded, study):
    """The code's loss is then the study's own, apart from numbers, which have their own rows."""
    for entry, of_variant in said_to_be_the_same(study):
        if entry in LOSSES and not of_variant:
            assert form_of(text_of(loaded, entry)) == form_of(spec_of(loaded, entry)), entry
        if entry in MINERS:
            variants = [row.variant for row in rows_with(loaded, entry)]
            assert any(("code" in variant) == of_variant for variant in variants), entry


def form_of(spec):
    options = spec.loss.hyperparameters.items()
    return spec.loss.name, {name: value for name, value in options if type(value) in (bool, str)}
