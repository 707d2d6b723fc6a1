"""The audit finds the printed numbers that contradict each other, and leaves the others alone."""

import csv
from pathlib import Path

import pytest
from dmlbench.errors import UserError
from dmlbench.statistics.audit import COLUMNS, audit, audit_frame
from dmlbench.statistics.printed import (
    DIFFERS,
    EQUAL,
    ROUNDED_UP,
    TRUNCATED,
    decimals,
    falling_recalls,
    read_printed,
    verdict,
)
from hypothesis import given, settings
from hypothesis import strategies as st

PSOMAS = Path(__file__).parents[2] / "config" / "reference" / "psomas2020"


@pytest.fixture(scope="module")
def frame():
    return audit_frame(PSOMAS)


def test_the_tournament_has_three_deviations_and_no_more(frame):
    cells = frame[frame.check == "tournament"]
    wrong = cells[cells.verdict != EQUAL]
    found = {(r.item, r.quantity, r.printed, r.recomputed, r.verdict) for r in wrong.itertuples()}
    assert len(cells) == 30
    assert found == {
        ("triplet", "average_rank", "8.85", "8.5833", DIFFERS),
        ("soft_triple", "average_rank", "3.16", "3.1667", TRUNCATED),
        ("lifted_structure", "rank_std", "1.89", "1.8829", ROUNDED_UP),
    }


def test_one_row_of_recalls_falls(frame):
    cells = frame[frame.check == "recall_rises"]
    wrong = cells[cells.verdict != EQUAL]
    assert len(cells) == 313
    assert wrong[["table", "item", "printed", "verdict"]].to_numpy().tolist() == [
        ["10b", "arcface", "73.14/64.56/75.04/84.51", "falls at k=10"]
    ]


def test_folds_and_repeated_rows_agree(frame):
    for check, size in {"folds": 2, "repeated": 120}.items():
        cells = frame[frame.check == check]
        assert len(cells) == size
        assert set(cells.verdict) == {EQUAL}


def test_recalls_that_no_number_of_images_gives(frame):
    cells = frame[frame.check == "whole_images"].set_index(["table", "item", "quantity"])
    # 4060 of 5924 is 68.5348, the next one 68.5517: nothing rounds to 68.54.
    assert cells.loc[("6a", "n_pair", "R@2"), "verdict"] == "no multiple of 1/5924"
    assert cells.loc[("6a", "n_pair", "R@2"), "recomputed"] == "68.5348"
    # 3571 of 5924 is 60.2802.
    assert cells.loc[("6a", "contrastive", "R@1"), "verdict"] == EQUAL
    sop = cells[cells.index.get_level_values("table").str.startswith("10")]
    assert set(sop.verdict) == {EQUAL}


def test_both_files_carry_the_findings(tmp_path):
    audit(PSOMAS, tmp_path / "audit.csv", tmp_path / "audit.md")
    rows = list(csv.DictReader((tmp_path / "audit.csv").open()))
    assert list(rows[0]) == COLUMNS
    assert len(rows) == 30 + 2 + 120 + 313 + 1252
    text = (tmp_path / "audit.md").read_text()
    assert "| 11 | triplet | average_rank | 8.85 | 8.5833 | differs |" in text
    assert "30 checked, 27 agree, 3 do not." in text
    assert "| 10b | arcface |" in text


def test_a_missing_table_is_named(tmp_path):
    with pytest.raises(UserError, match=r"no printed table at .*table_06.csv"):
        audit_frame(tmp_path)


@pytest.mark.parametrize(
    ("printed", "recomputed", "digits", "wanted"),
    [
        (8.58, 8.58333, 2, EQUAL),
        (63.61, 63.605, 2, EQUAL),
        (63.60, 63.605, 2, EQUAL),
        (3.16, 3.16667, 2, TRUNCATED),
        (1.89, 1.8829, 2, ROUNDED_UP),
        (8.85, 8.58333, 2, DIFFERS),
        (12, 12.0, 0, EQUAL),
        (12, 13.0, 0, DIFFERS),
    ],
)
def test_verdicts(printed, recomputed, digits, wanted):
    assert verdict(printed, recomputed, digits) == wanted


@settings(max_examples=60, deadline=None)
@given(st.floats(0, 100, allow_nan=False), st.integers(0, 3))
def test_what_is_rounded_is_equal(number, digits):
    printed = f"{number:.{digits}f}"
    assert decimals(printed) == digits
    assert verdict(float(printed), number, digits) == EQUAL


def test_every_reference_file_reads():
    root = PSOMAS.parent
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        tables = [path.stem.removeprefix("table_") for path in sorted(folder.glob("table_*.csv"))]
        printed = read_printed(folder, tables)
        assert set(printed.study) == {folder.name}
        assert printed.number.notna().all()


def test_the_reference_is_the_transcription(shared):
    root = PSOMAS.parent
    for path in sorted(root.glob("*/table_*.csv")):
        assert path.read_bytes() == (shared / "reference" / path.relative_to(root)).read_bytes()


def test_one_series_of_the_other_studies_falls():
    wrong = []
    for study in ["can2019", "karaman2021", "roth2020"]:
        folder = PSOMAS.parent / study
        tables = [path.stem.removeprefix("table_") for path in sorted(folder.glob("table_*.csv"))]
        series = falling_recalls(read_printed(folder, tables))
        wrong += series[series.verdict != EQUAL].assign(study=study).to_dict("records")
    assert [(row["study"], row["table"], row["printed"]) for row in wrong] == [
        ("can2019", "02", "48.2/61.4/71.8/59.2")
    ]
