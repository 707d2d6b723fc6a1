"""Pages have the tables of the claims, the printed and the published numbers now."""

import itertools
import re

import pandas as pd
import pytest
from dmlbench.marked_text import read_marked
from dmlbench.statistics.claims import COLUMNS
from dmlbench.statistics.claims.summary import claims_of_all, counted, counts, in_rows
from project import script_of_docs


@pytest.fixture(scope="module")
def from_claims():
    return script_of_docs("from_claims")


@pytest.fixture(scope="module")
def judged(from_claims):
    return from_claims.judged()


@pytest.mark.slow
def test_pages_say_what_the_claims_give(from_claims, judged):
    for (page, name), text in from_claims.texts(judged).items():
        written = read_marked(from_claims.DOCS / page, name)
        assert written == text, "claims or published results changed: `make claims`"


def test_the_picture_has_a_bar_for_each_document_and_data(from_claims, judged):
    (axes,) = from_claims.picture(list(judged.values())).axes
    verdicts = ["supported", "equivalent", "inconclusive", "contradicted"]
    wanted = [
        [(own["verdict"] == verdict).sum() for verdict in verdicts]
        for found in judged.values()
        for evidence, own in found.groupby("evidence", sort=False)
        if evidence not in ("", "ours")
    ]
    widths = [round(bar.get_width()) for bar in axes.patches]
    assert len(wanted) == len(axes.get_yticks())
    assert widths == list(itertools.chain.from_iterable(wanted))


def test_the_picture_is_that_of_the_claims(from_claims, judged, tmp_path):
    from_claims.style.save(from_claims.picture(list(judged.values())), svg=tmp_path / "new.svg")
    drawn, kept = (_numbers(file) for file in (tmp_path / "new.svg", from_claims.PICTURE))
    assert drawn == kept, "claims or published results changed: `make claims`"


def _numbers(file):
    """What an SVG of matplotlib says, which it keeps as comments next to the outlines."""
    return re.findall(r"<!-- (.*?) -->", file.read_text())


@pytest.mark.slow
def test_counts_and_files_of_all_papers(from_claims, tmp_path):
    found = from_claims.verdicts(from_claims.REFERENCE / "can2019")
    found.to_csv(tmp_path / "can2019.csv", index=False)
    claims_of_all([tmp_path / "can2019.csv"], tmp_path / "all.csv", tmp_path / "all.md")
    assert list(pd.read_csv(tmp_path / "all.csv").columns) == COLUMNS
    lines = counted(tmp_path / "all.csv", tmp_path / "all.md")
    of = counts(found, "printed")
    assert sum(of.values()) == found["claim"].nunique()
    assert f"{of['supported']} supported, {of['inconclusive']} inconclusive" in lines[0]
    assert lines[-1].startswith(f"{tmp_path / 'all.md'}: ")
    row = next(each for each in in_rows(found) if "on average over losses and data" in each["says"])
    assert row["printed"].startswith("supported (1.32 [")
    assert row["ours"] == "not run"
    (handwriting,) = (each for each in row["elsewhere"] if each.startswith("handwriting: "))
    # The mean change of four losses in docs/findings/projections.md.
    assert handwriting.startswith("handwriting: contradicted (-5.00 [")
    text = (tmp_path / "all.md").read_text()
    assert "## can2019" in text
    assert "nan" not in text


def test_an_undecided_claim_names_what_would_decide_it():
    common = {"claim": "a", "says": "so", "verdict": "inconclusive", "comparisons": 1, "holds": 1}
    common |= {"estimate": 1.0, "low": 0.0, "high": 2.0}
    rows = [
        {"evidence": "printed", "unit": "seed", "verdict": "supported"},
        {"evidence": "ours", "comparisons": 0, "verdict": "not run"},
        {"evidence": "birds", "unit": "split", "detects": 1.62},
        {"evidence": "handwriting", "unit": "seed", "repeats_needed": 1001},
    ]
    frame = pd.DataFrame([common | row for row in rows]).reindex(columns=COLUMNS)
    (shown,) = in_rows(frame)
    assert shown["elsewhere"] == [
        "birds: inconclusive (1.00 [0.00, 2.00], other classes; could show 1.6)",
        "handwriting: inconclusive (1.00 [0.00, 2.00], other seeds; over 1000 seeds needed)",
    ]


def test_a_terminal_shows_every_verdict_of_every_paper_and_the_files(tmp_path):
    rows = [(f"c{number}", "printed", "supported") for number in range(2)]
    rows += [("c2", "printed", "contradicted"), ("c2", "ours", "not run")]
    rows += [("c0", "ours", "equivalent"), ("c1", "ours", "inconclusive")]
    # Out of scope whatever the evidence; a stand-in is not counted.
    rows += [("c3", "", "out of scope"), ("c0", "handwriting", "contradicted")]
    found = pd.DataFrame(rows, columns=["claim", "evidence", "verdict"]).assign(study="a")
    found.reindex(columns=COLUMNS).to_csv(tmp_path / "all.csv", index=False)
    csv = tmp_path / "all.csv"
    assert counted(csv, "all.md") == [
        "a, printed: 4 claims: 2 supported, 1 contradicted, 1 out of scope",
        "a, ours: 4 claims: 1 equivalent, 1 inconclusive, 1 not run, 1 out of scope",
        f"all.md: the claims with their verdicts; {csv}: the same with all numbers",
    ]
