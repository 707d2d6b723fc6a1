"""docs/claims.md has the tables of the claims, the printed and the published numbers now."""

import pandas as pd
import pytest
from dmlbench.marked_text import read_marked
from dmlbench.statistics.claims import COLUMNS
from dmlbench.statistics.claims.summary import claims_of_all, counted, counts, in_rows
from project import script_of_docs


@pytest.fixture(scope="module")
def from_claims():
    return script_of_docs("from_claims")


def test_the_tables_are_those_of_the_claims(from_claims):
    written = read_marked(from_claims.PAGE, "from_claims")
    assert written == from_claims.tables(), "claims or published results changed: `make claims`"


def test_counts_and_files_of_all_papers(from_claims, tmp_path):
    found = from_claims.verdicts(from_claims.REFERENCE / "can2019")
    found.to_csv(tmp_path / "can2019.csv", index=False)
    claims_of_all([tmp_path / "can2019.csv"], tmp_path / "all.csv", tmp_path / "all.md")
    assert list(pd.read_csv(tmp_path / "all.csv").columns) == COLUMNS
    lines = counted(tmp_path / "all.csv", tmp_path / "all.md")
    of = counts(found, "printed")
    assert sum(of.values()) == found["claim"].nunique()
    assert f"{of['supported']} supported, {of['contradicted']} contradicted" in lines[0]
    assert lines[-1].startswith(f"{tmp_path / 'all.md'}: ")
    row = next(each for each in in_rows(found) if "on average over losses and data" in each["says"])
    assert row["printed"].startswith("supported (1.32 [")
    assert row["ours"] == "not run"
    (handwriting,) = (each for each in row["elsewhere"] if each.startswith("handwriting: "))
    # The mean change of four losses in docs/results.md.
    assert handwriting.startswith("handwriting: contradicted (-5.00 [")
    text = (tmp_path / "all.md").read_text()
    assert "## can2019" in text
    assert "nan" not in text
