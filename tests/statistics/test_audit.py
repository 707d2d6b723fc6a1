"""The audit of the five documents: its findings in the committed transcriptions."""

import csv
from dataclasses import replace
from fractions import Fraction
from math import comb
from pathlib import Path

import pandas as pd
import pytest
from dmlbench.errors import UserError
from dmlbench.marked_text import read_marked
from dmlbench.statistics.audit import (
    COLUMNS,
    RULES,
    audit,
    audit_all,
    audit_frame,
    counted,
    falling_recall,
    means,
    ranks,
    read_document,
    repeated,
    whole_queries,
)
from dmlbench.statistics.audit.check import AGREES, BLAMED, CERTAIN, FORMULA, SURE
from dmlbench.statistics.printed import read_printed
from project import REPOSITORY, script_of_docs

pages = script_of_docs("audit_precision")
REFERENCE = Path(__file__).parents[2] / "config" / "reference"
STUDIES = ["can2019", "karaman2021", "musgrave2020", "psomas2020", "roth2020"]
PLACES = REFERENCE / "audit_places.csv"
COUNTS = Path(__file__).parent / "audit_counts.csv"
"""How many checks, findings and defects each rule has in each document, as of the last careful
reading."""


@pytest.fixture(scope="module")
def documents():
    return {study: read_document(REFERENCE / study) for study in STUDIES}


@pytest.fixture(scope="module")
def frames(documents):
    return {study: audit_frame(document) for study, document in documents.items()}


def counts(frames: dict) -> pd.DataFrame:
    every = pd.concat(frames.values())
    every["finding"] = every["kind"] != AGREES
    every["defect"] = every["defect"].where(every["finding"])
    return every.groupby(["study", "rule"], as_index=False).agg(
        checks=("finding", "count"), findings=("finding", "sum"), defects=("defect", "nunique")
    )


@pytest.mark.slow
def test_what_is_found_is_what_was_read(frames):
    pd.testing.assert_frame_equal(counts(frames), pd.read_csv(COUNTS), check_dtype=False)


def test_each_finding_says_how_sure_it_is_and_why(frames):
    for frame in frames.values():
        found = frame[frame["kind"] != AGREES]
        assert set(found["sure"]) <= set(SURE)
        assert found["explanation"].str.endswith(".").all()
        assert (frame[frame["kind"] == AGREES]["explanation"] == "").all()
        assert set(found["blames"]) <= set(BLAMED)
        assert (frame[frame["kind"] == AGREES]["blames"] == "").all()
        likely = found[found["sure"] == "likely"]["explanation"]
        assert likely.str.lower().str.contains("assum").all()


def test_a_misprinted_formula_is_one_defect_and_blames_no_number(frames):
    roth = frames["roth2020"]
    misprinted = roth[roth["blames"] == FORMULA]
    places = misprinted["defect"].value_counts()
    assert places["roth2020: equation 27"] > 6  # a law of its own, and the NMI of six tables
    assert places["roth2020: equation 30"] == 3
    # Not even cells of a printed table that contradict it: they are many methods' at once.
    of_tables = misprinted[misprinted["rule"] == "bounds"]
    assert of_tables["method"].str.fullmatch(r"\d+ methods").mean() > 0.9


def test_every_defect_was_checked_and_stands(frames):
    defects = set(pd.concat(frames.values())["defect"]) - {""}
    checked = pages.read_checked(REFERENCE / "audit_checked.csv")
    assert set(checked["defect"]) == defects
    assert checked["defect"].is_unique
    assert checked["reason"].str.len().min() > 10
    found = pages.precision(defects, checked)
    assert found.stand == found.checked == len(defects), "correct the rule, or drop the entry"
    with pytest.raises(UserError, match="'another' was not checked by hand"):
        pages.precision(["another"], checked)


def test_the_drawn_places_were_checked_and_only_those_that_stand_are_found(frames):
    places = pages.read_places(PLACES)
    drawn = places[places["stands"] != ""]
    assert len(drawn) == pages.SIZE
    assert drawn["reason"].str.len().min() > 10
    assert (places[places["stands"] == ""]["reason"] == "").all()
    every = pd.concat(frames.values())
    found = {
        (row.defect, row.printed, row.recomputed)
        for row in every[every["kind"] != AGREES].itertuples()
    }
    for row in drawn.itertuples():
        assert ((row.defect, row.printed, row.recomputed) in found) == (row.stands == "yes"), row


def test_places_have_verdicts_where_the_seed_draws_them(tmp_path):
    places = pd.read_csv(PLACES, dtype=str, keep_default_na=False)
    places["stands"] = [*places["stands"][1:], places["stands"][0]]
    places.to_csv(tmp_path / "places.csv", index=False)
    with pytest.raises(UserError, match="a verdict for each of 60 drawn places and no other"):
        pages.read_places(tmp_path / "places.csv")
    places.drop(columns="sure").to_csv(tmp_path / "places.csv", index=False)
    with pytest.raises(UserError, match="allowed: columns"):
        pages.read_places(tmp_path / "places.csv")


@pytest.mark.parametrize(("stand", "checked"), [(60, 60), (0, 9), (57, 60), (3, 7), (1, 1)])
def test_an_interval_is_where_binomial_tails_are_a_fortieth(stand, checked):
    low, high = pages.Precision(stand, checked).interval()

    def chance(counts, share):
        return sum(comb(checked, k) * share**k * (1 - share) ** (checked - k) for k in counts)

    at_least, at_most = range(stand, checked + 1), range(stand + 1)
    assert chance(at_least, low) == pytest.approx(0.025) if stand else low == 0
    assert chance(at_most, high) == pytest.approx(0.025) if stand < checked else high == 1


def test_percentages_that_are_no_share_recounted_in_fractions(frames):
    """The cells of six tables, counted without the audit's arithmetic."""
    missed, cells = set(), 0
    for table in ("06", "07", "08", "09", "20", "21"):
        queries = 5924 if table < "09" else 8131
        path = REFERENCE / "psomas2020" / f"table_{table}.csv"
        for row in csv.DictReader(path.open()):
            hundredths, cells = Fraction(row["value"]) * 100, cells + 1
            nearest = round(hundredths * queries / 10_000)
            if abs(Fraction(nearest * 10_000, queries) - hundredths) > Fraction(1, 2):
                missed.add((row["method"], row["dataset"], row["metric"], row["value"]))
    found = frames["psomas2020"].query("rule == 'whole_queries' and kind != @AGREES")
    columns = ["method", "dataset", "metric", "printed"]
    assert cells == 960
    assert missed == set(found[columns].itertuples(index=False, name=None))


def test_pages_say_what_the_audit_finds(frames):
    from_audit = script_of_docs("from_audit")
    for page, text in from_audit.texts(pd.concat(frames.values())).items():
        written = read_marked(REPOSITORY / page, "from_audit")
        assert written == text, "the audit has changed: `make findings`"


def test_every_rule_has_something_to_check(frames):
    assert set(pd.concat(frames.values())["rule"]) == set(RULES)


@pytest.mark.parametrize(
    ("rule", "table", "panel", "method", "metric", "value"),
    [
        (ranks, "11", "", "margin", "tournament_total_rank", "71"),
        (ranks, "11", "", "arcface", "tournament_rank_std", "2.41"),
        (means, "12", "", "multi_similarity", "recall_at_1", "63.62"),
        (repeated, "17", "", "margin", "recall_at_4", "83.91"),
        (falling_recall, "06", "d", "n_pair", "recall_at_1", "72.61"),
        (whole_queries, "06", "a", "contrastive", "recall_at_1", "60.29"),
    ],
)
def test_a_misprint_in_a_real_table_is_found(documents, rule, table, panel, method, metric, value):
    document = documents["psomas2020"]
    where = {"table": table, "panel": panel, "method": method, "metric": metric}
    cells = document.cells.copy()
    chosen = (cells[list(where)] == list(where.values())).all(axis=1)
    assert chosen.sum() == 1
    cells.loc[chosen, "value"] = value
    cells.loc[chosen, "number"] = float(value)
    before, after = (
        sum(check.kind != AGREES for check in rule.check(given))
        for given in (document, replace(document, cells=cells))
    )
    assert after == before + 1


def test_the_files_carry_the_findings(tmp_path, frames):
    audit(REFERENCE / "musgrave2020", tmp_path / "one.csv", tmp_path / "one.md")
    rows = list(csv.DictReader((tmp_path / "one.csv").open()))
    assert list(rows[0]) == COLUMNS
    assert len(rows) == len(frames["musgrave2020"])
    assert "as many as by chance" in (tmp_path / "one.md").read_text()
    paths = []
    for study, frame in frames.items():
        paths.append(tmp_path / f"{study}.csv")
        frame.to_csv(paths[-1], index=False)
    audit_all(paths, tmp_path / "all.csv", tmp_path / "all.md")
    assert len(pd.read_csv(tmp_path / "all.csv")) == sum(map(len, frames.values()))
    text = (tmp_path / "all.md").read_text()
    roth = frames["roth2020"]
    defects = roth[roth["kind"] != AGREES]["defect"].nunique()
    certain = roth[roth["sure"] == CERTAIN]["defect"].nunique()
    assert f"| roth2020 | {len(roth):,} | {defects} | {certain} |" in text
    lines = counted(tmp_path / "all.csv", tmp_path / "all.md")
    assert [line.partition(":")[0] for line in lines[:-1]] == STUDIES
    assert f"roth2020: {defects} defects in " in lines[-2]


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(UserError, match=r"no printed table at .*table_\*\.csv"):
        read_document(tmp_path)
    (tmp_path / "table_01.csv").write_bytes((REFERENCE / "roth2020" / "table_01.csv").read_bytes())
    with pytest.raises(UserError, match=r"audit\.yaml: no such file"):
        read_document(tmp_path)
    (tmp_path / "audit.yaml").write_text("fakts: []")
    with pytest.raises(UserError, match="unknown key 'fakts'; did you mean 'facts'"):
        read_document(tmp_path)


def test_every_reference_file_reads():
    for folder in sorted(path for path in REFERENCE.iterdir() if path.is_dir()):
        tables = [path.stem.removeprefix("table_") for path in sorted(folder.glob("table_*.csv"))]
        printed = read_printed(folder, tables)
        assert set(printed.study) == {folder.name}
        assert printed.number.notna().all()


def test_the_reference_is_the_transcription(shared):
    # What is ours, or the authors' code's, is no transcription.
    ours = ("margins.csv", "claims_review.csv", "settings_table_optima*.csv")
    others = {path for name in ours for path in REFERENCE.glob(f"*/{name}")}
    for path in sorted(set(REFERENCE.glob("*/*.csv")) - others):
        original = shared / "reference" / path.relative_to(REFERENCE)
        assert path.read_bytes() == original.read_bytes()
