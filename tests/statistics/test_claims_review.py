"""Each claim was read again in its paper: claims_review.csv says what the reading found."""

import csv
from collections import Counter
from pathlib import Path

import pytest
from dmlbench.plan.studies.claims import read_claims

REFERENCE = Path(__file__).parents[2] / "config" / "reference"
REVIEWS = sorted(REFERENCE.glob("*/claims_review.csv"))
READINGS = {"faithful", "reworded", "contrast", "place", "transfers"}
READINGS |= {"inverted", "removed", "added"}

pytestmark = pytest.mark.parametrize("file", REVIEWS, ids=lambda file: file.parent.name)


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as lines:
        reader = csv.DictReader(lines)
        assert reader.fieldnames == ["id", "before_id", "reading", "reason"]
        return list(reader)


def ids(file: Path) -> set[str]:
    return {claim.id for claim in read_claims(file.parent).claims}


def is_removed(row: dict[str, str]) -> bool:
    return "removed" in row["reading"].split(";")


def test_every_claim_has_exactly_one_row(file):
    kept = [row["id"] for row in rows(file) if not is_removed(row)]
    assert Counter(kept) == Counter(ids(file))


def test_what_was_removed_has_no_claim(file):
    removed = [row for row in rows(file) if is_removed(row)]
    assert all(row["before_id"] for row in removed)
    assert not {row[column] for row in removed for column in ("id", "before_id")} & ids(file)


def test_each_row_has_a_known_reading_and_a_reason(file):
    for row in rows(file):
        readings = row["reading"].split(";")
        assert set(readings) <= READINGS, row
        # The words and the contrast of a faithful claim stay; only where it is judged may change.
        assert "faithful" not in readings or set(readings) <= {"faithful", "transfers"}, row
        assert row["reason"].strip(), row
