"""A page of a study that has printed numbers: verdicts, scatter, audit."""

import re
from pathlib import Path

import pandas as pd
import pytest
from dmlbench.presentation._pictures import stacked_bar
from dmlbench.presentation.report import report
from dmlbench.statistics.agreement import agreement
from dmlbench.statistics.audit import audit
from dmlbench.statistics.claims import COLUMNS
from finished_study import make_study
from html_page import Page

PSOMAS = Path(__file__).parents[2] / "config" / "reference" / "psomas2020"


@pytest.mark.slow
def test_the_printed_numbers_have_their_section(study, tmp_path):
    audit(PSOMAS, tmp_path / "results" / "audit.csv", tmp_path / "results" / "audit.md")
    study["audit"] = {end: tmp_path / "results" / f"audit.{end}" for end in ("csv", "md")}
    report([study], tmp_path / "results" / "report.html")
    words = Page(tmp_path / "results" / "report.html").words()
    assert "Printed numbers, checked" in words
    assert "27 of 30 agree" in words
    assert "3 defects in 3 places" in words
    found = pd.read_csv(study["audit"]["csv"], keep_default_na=False)["defect"]
    found = found[found != ""]
    assert f"{found.nunique()} defects in {len(found)} places: " in words
    assert "Triplet tournament average rank 8.85 8.5833 number certain" in words
    assert "R@10 is lower than R@1" in words


@pytest.mark.slow
def test_an_audit_that_two_studies_share_is_shown_once(tmp_path, synthetic_scores, titles, methods):
    results = tmp_path / "results"
    audit(PSOMAS, results / "audit.csv", results / "audit.md")
    shared = {"audit": {end: results / f"audit.{end}" for end in ("csv", "md")}}
    studies = [
        make_study(results / name, synthetic_scores(), titles, methods) | shared
        for name in ("demo", "omniglot")
    ]
    report(studies, results / "report.html")
    assert Page(results / "report.html").words().count("27 of 30 agree") == 1


@pytest.mark.slow
def test_a_paper_s_study_opens_with_its_verdict(study, tmp_path):
    results = tmp_path / "results"
    audit(PSOMAS, results / "audit.csv", results / "audit.md")
    tables = [PSOMAS / f"table_{table}.csv" for table in ("06", "17")]
    study["agreement"] = results / "agreement.csv"
    agreement(
        [],
        [],
        tables=[],
        printed=tables,
        findings=results / "audit.csv",
        output=study["agreement"],
    )
    report([study], results / "report.html")
    words = Page(results / "report.html").words()
    assert "Of 204 printed numbers none ran yet" in words
    assert "6 160 0 0 0 160 0 –" in words
    found = pd.read_csv(study["agreement"])
    found.loc[:1, ["ours", "difference"]] = [[60.0, -0.28], [70.0, -1.49]]
    found.loc[:1, "verdict"] = ["reproduced", "differs"]
    found.to_csv(study["agreement"], index=False)
    report([study], results / "report.html")
    words = Page(results / "report.html").words()
    assert "1 were reproduced , 1 differ and 0 are inconclusive; ours and theirs are 0.89" in words
    assert "reproduced: 1 differs: 1 not run: 202" in words
    assert "202 did not run yet" in words


def test_a_paper_s_page_shows_its_claims_as_two_pictures(study, tmp_path):
    rows = [("a", "printed", "supported"), ("a", "ours", "contradicted")]
    rows += [("b", "printed", "supported"), ("b", "ours", "inconclusive")]
    rows += [("c", "printed", "not printed"), ("c", "ours", "not run")]
    rows += [("c", "handwriting", "supported"), ("d", "", "out of scope")]
    found = pd.DataFrame(rows, columns=["claim", "evidence", "verdict"])
    found = found.assign(study="demo", says=found["claim"] + " is so", comparisons=0)
    study["claims"] = tmp_path / "results" / "claims.csv"
    found.reindex(columns=COLUMNS).to_csv(study["claims"], index=False)
    report([study], tmp_path / "results" / "report.html")
    text = (tmp_path / "results" / "report.html").read_text()
    pictures = re.findall(r'<svg class="stacked"[^>]* aria-label="([^"]*)"', text)
    assert pictures == [
        "2 supported, 1 not printed, 1 out of scope",
        "1 contradicted, 1 inconclusive, 1 not run, 1 out of scope",
    ]
    # A quarter of 640 each, in the colors of the verdicts.
    parts = re.findall(r'<rect class="([\w-]+)" x="([\d.]+)" y="0" width="160.0"', text)
    assert [kind for kind, _ in parts[-4:]] == [
        "contradicted",
        "inconclusive",
        "not-run",
        "out-of-scope",
    ]
    for kind in ("supported", "contradicted", "equivalent", "inconclusive", "out-of-scope"):
        assert f".stacked .{kind}" in text
    words = Page(tmp_path / "results" / "report.html").words()
    assert "Of 4 claims the printed numbers support 2 and contradict 0 ; ours support 0" in words


def test_a_stacked_bar_is_as_wide_as_its_counts():
    bar = stacked_bar({"reproduced": 1, "differs": 0, "not run": 3})
    found = re.findall(r'<rect class="([\w-]+)" x="([\d.]+)" y="0" width="([\d.]+)"', bar)
    assert found == [("reproduced", "0.0", "160.0"), ("not-run", "160.0", "480.0")]
    assert 'aria-label="1 reproduced, 3 not run"' in bar
    assert stacked_bar({"reproduced": 0}) == ""


def test_each_printed_number_that_ran_is_a_mark_on_a_scatter(study, tmp_path):
    agreed = pd.DataFrame(
        {
            "table": ["06", "06", "06", "07"],
            "method": "triplet",
            "metric": "recall_at_1",
            "printed": [50.0, 60.0, 70.0, 80.0],
            "ours": [50.0, 64.15, None, 75.0],
            "difference": [0.0, 4.15, None, -5.0],
            "verdict": ["reproduced", "differs", "not run", "cannot be"],
        }
    )
    for column in ("panel", "dataset", "network", "embedding_dim", "split", "fold", "role"):
        agreed[column] = ""
    agreed.to_csv(tmp_path / "agreement.csv", index=False)
    report([study | {"agreement": tmp_path / "agreement.csv"}], tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    marks = re.findall(r'<circle class="(\w+)" cx="([\d.]+)" cy="([\d.]+)"', text)
    assert [mark[0] for mark in marks] == ["reproduced", "differs", "cannot"]
    # From 50 to 80 on both scales: the first mark is at the origin, the second to its upper right.
    assert (float(marks[0][1]), float(marks[0][2])) == (44, 326)
    assert float(marks[1][1]) > 44
    assert float(marks[1][2]) < 326
    assert "Triplet, R@1: printed 60, ours 64.15" in text
