"""The report of a synthetic study."""

import base64
import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dmlbench.data.account import account_of
from dmlbench.data.index import index
from dmlbench.data.split import split
from dmlbench.errors import UserError
from dmlbench.presentation._templates import breakable
from dmlbench.presentation.report import report
from dmlbench.presentation.study import headline
from dmlbench.presentation.terminal import summary
from dmlbench.statistics.audit import audit
from finished_study import make_study
from html_page import Page
from PIL import Image

PSOMAS = Path(__file__).parents[2] / "config" / "reference" / "psomas2020"


def test_a_study_without_a_tournament_has_a_page(study, tmp_path):
    ranking = ("selection", "metric", "methods", "ranked")
    study = {key: value for key, value in study.items() if key not in ranking}
    study["tournament"] = None
    report([study], tmp_path / "results" / "report.html")
    words = Page(tmp_path / "results" / "report.html").words()
    assert "Which loss?" in words
    assert "Our table." in words
    assert "Tournament" not in words
    assert "Tournament" not in summary(study)
    assert "t1.md" in summary(study)


def test_the_headline_is_about_the_runs_of_the_tournament(study):
    everything = headline(study)
    small = [row for row in study["ranked"] if row["embedding_dim"] == 64]
    fewer = headline(study | {"ranked": small})
    assert everything.runs == fewer.runs
    assert fewer.averaged < everything.averaged
    (_, _, best, *_), *_ = fewer.metrics
    assert best == pytest.approx(80.0)


def test_the_winner_is_next_to_its_caveats(study, tmp_path):
    report([study], tmp_path / "results" / "report.html")
    words = Page(tmp_path / "results" / "report.html").words()
    assert re.search(
        r"Best mean rank, not significant ProxyAnchor of 3 losses in 2 experiments "
        r"No significant difference between methods "
        r"\(Friedman test, p = 0\.167\)\. One seed: another seed may change the order\.",
        words,
    )


def test_a_clear_winner_of_several_seeds_has_no_caveat(tmp_path, synthetic_scores, titles, methods):
    scores = synthetic_scores(dims=(16, 32, 64, 128), seeds=(0, 1))
    assert headline(make_study(tmp_path / "demo", scores, titles, methods)).caveats == ()
    alone = synthetic_scores(dims=[16], seeds=(0, 1))
    (caveat,) = headline(make_study(tmp_path / "one", alone, titles, methods)).caveats
    assert caveat.startswith("One experiment")


def test_trained_runs_are_counted_apart(study, tmp_path):
    assert (headline(study).runs, headline(study).trained) == (8, 6)
    report([study], tmp_path / "results" / "report.html")
    assert "6 trained, 2 untrained" in Page(tmp_path / "results" / "report.html").words()


def test_a_rehearsal_says_so_on_page_and_terminal(study, tmp_path):
    path = tmp_path / "results" / "report.html"
    report([study | {"rehearsal": True}], path)
    text = path.read_text(encoding="utf-8")
    assert "<title>Rehearsal, toy numbers: " in text
    assert "Rehearsal: toy numbers. A rehearsal with toy numbers, which say" in Page(path).words()
    assert "rehearsal with toy numbers" in summary(study | {"rehearsal": True}).splitlines()[3]
    report([study], path)
    assert "toy numbers" not in Page(path).words()
    assert "toy numbers" not in summary(study)


def test_the_page_shows_every_part_of_the_study(study, tmp_path):
    report([study], tmp_path / "results" / "report.html")
    page = Page(tmp_path / "results" / "report.html")
    words = page.words()
    assert page.open == []
    for wanted in (
        "Losses & <letters>",
        "A description.",
        "Which loss?",
        "R & <R>.",
        "Our table.",
        "By size",
        "Our figure.",
        "glyphs, 240 characters",
        "torch 2.15.0",
        "snakemake demo --cores 2",
        "The test labels took part in choosing the model",
        "3 min 00 s",
        "512 MB",
    ):
        assert wanted in words
    assert {"demo", "demo-t1", "demo-f1"} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))


def test_the_headline_is_the_winner_next_to_the_untrained_network(study, tmp_path):
    report([study], tmp_path / "results" / "report.html")
    words = Page(tmp_path / "results" / "report.html").words()
    # Means over both sizes: 80, 81 test-selected; 78, 79 at the last epoch; 20, 21 untrained.
    found = re.search(
        r"R@1 of ProxyAnchor, mean of 2 runs 80\.5 % test-selected; last epoch 78\.5 %", words
    )
    assert found
    assert re.search(r"Untrained network 20\.5 %", words)
    assert "of 3 losses in 2 experiments" in words


def test_the_board_says_how_sure_its_ranks_are(study, tmp_path):
    report([study], tmp_path / "without.html")
    without = (tmp_path / "without.html").read_text()
    # Three methods in the same order twice: one of the 3! orders of the second.
    assert "p = 0.167; Nemenyi's critical difference of mean ranks: 2.34" in without
    assert "other test images" not in without
    board = pd.read_parquet(study["tournament"]["parquet"])
    board = board.assign(rank_low=1, rank_high=[1, 2.5, 3], probability_first=[0.75, 0.25, 0])
    board.to_parquet(study["tournament"]["parquet"], index=False)
    report([study], tmp_path / "with.html")
    shown = (tmp_path / "with.html").read_text()
    assert "other test images" in shown
    assert "<td>1.0–2.5</td><td>25 %</td>" in shown


def test_the_page_needs_nothing_else(study, tmp_path):
    path = tmp_path / "results" / "report.html"
    report([study], path)
    text = path.read_text(encoding="utf-8")
    page = Page(path)
    assert not re.search(r"https?:|//[a-z]|@import|url\(|<script|<link", text.split("base64,")[0])
    assert all(not link.startswith(("http", "/", "file")) for link in page.links)
    assert [source[:26] for source in page.sources] == ["data:image/svg+xml;base64,"]
    picture = base64.b64decode(page.sources[0].removeprefix("data:image/svg+xml;base64,"))
    assert picture == study["figures"][0]["svg"].read_bytes()


@pytest.mark.slow
def test_every_link_leads_somewhere(study, tmp_path):
    path = tmp_path / "results" / "report.html"
    audit(PSOMAS, tmp_path / "results" / "audit.csv", tmp_path / "results" / "audit.md")
    study["audit"] = {end: tmp_path / "results" / f"audit.{end}" for end in ("csv", "md")}
    report([study], path)
    page = Page(path)
    for link in page.links:
        if link.startswith("#"):
            assert link[1:] in page.ids
        else:
            assert (path.parent / link).is_file()
    ends = {Path(link).suffix for link in page.links}
    assert {".csv", ".md", ".tex", ".pdf", ".svg", ".png", ".parquet"} <= ends


def test_honest_scores_carry_no_warning(tmp_path, synthetic_scores, titles, methods):
    folder = tmp_path / "results" / "omniglot"
    study = make_study(folder, synthetic_scores(), titles, methods, selection="last_epoch")
    report([study | {"timings": None}], tmp_path / "results" / "report.html")
    words = Page(tmp_path / "results" / "report.html").words()
    assert "The test labels played no part." in words
    assert "took part in choosing" not in words
    assert "Printed numbers, checked" not in words


def test_two_studies_share_a_page(tmp_path, synthetic_scores, titles, methods):
    studies = [
        make_study(tmp_path / "results" / name, synthetic_scores(), titles, methods)
        for name in ("demo", "omniglot")
    ]
    report(studies, tmp_path / "results" / "report.html")
    page = Page(tmp_path / "results" / "report.html")
    assert len(page.ids) == len(set(page.ids))
    assert len(page.sources) == 2


def test_the_same_studies_give_the_same_bytes_and_none_is_an_error(study, tmp_path):
    for attempt in ("one", "two"):
        report([study], tmp_path / "results" / f"{attempt}.html")
    one, two = ((tmp_path / "results" / f"{name}.html").read_bytes() for name in ("one", "two"))
    assert one == two
    with pytest.raises(UserError, match="at least one study"):
        report([], tmp_path / "results" / "none.html")


def test_the_page_names_machine_and_software(study, tmp_path):
    report([study], tmp_path / "results" / "report.html")
    words = Page(tmp_path / "results" / "report.html").words()
    assert re.search(r"with Python 3\.\d+\.\d+, torch \d", words)
    assert re.search(r"Machine: \w+ .*\d+ cores", words)


def test_a_full_disk_leaves_no_page(small_disk, study):
    small_disk.fill(0)
    with pytest.raises(UserError, match=r"report\.html: the disk is full"):
        report([study], small_disk.folder / "report.html")
    assert small_disk.files == ["ballast"]


def test_the_page_says_what_the_trainings_ran_on(study, tmp_path):
    runs = pd.read_parquet(study["scores"], columns=["run"])["run"].unique()
    where = {"device": "cpu", "machine": "a laptop", "software": "Python", "commit": "abc"}
    for run, locked in zip(runs[:3], ({"lock": "0d15"}, {"lock": "0d15"}, {}), strict=True):
        history = Path(study["scores"]).parents[2] / "runs" / run / "history.parquet"
        history.parent.mkdir(parents=True)
        known = {"provenance": json.dumps(where | locked)}
        table = pa.table({"epoch": [1]}).replace_schema_metadata(known)
        pq.write_table(table, history)
    study["source"] = "A. Author, A Title, 2020."
    report([study], tmp_path / "results" / "report.html")
    words = Page(tmp_path / "results" / "report.html").words()
    assert "2 on cpu: a laptop; Python; requirements.lock 0d15; commit abc" in words
    # Recorded before locks were.
    assert "1 on cpu: a laptop; Python; commit abc" in words
    assert "A. Author, A Title, 2020." in words


def test_own_studies_come_first_and_alone_have_their_own_title(study, tmp_path):
    path, own = tmp_path / "report.html", study | {"id": "mine", "title": "Mine", "folders": {}}
    report([own], path)
    assert "<h1>Mine</h1>" in path.read_text()
    files = {"index": tmp_path / "none", "split": tmp_path / "none"}
    report([study, own | {"folders": {"Mine": files}}], path)
    text = path.read_text()
    assert "<h1>Your images, and deep metric learning, reproduced</h1>" in text
    assert text.index('<article id="mine">') < text.index('<article id="demo">')
    report([study, own], path)
    assert "<h1>Deep metric learning, reproduced</h1>" in path.read_text()


def test_a_study_of_own_images_shows_their_account(study, tmp_path):
    for number, name in enumerate(("a", "b", "c", "d <1> & 'e'")):
        (tmp_path / "mine" / name).mkdir(parents=True)
        for seed in range(number > 0, 2):
            picture = Image.new("L", (4, 4), 10 * number + seed)
            picture.save(tmp_path / "mine" / name / f"{seed}.png")
    shutil.copy(tmp_path / "mine" / "a" / "1.png", tmp_path / "mine" / "b" / "2.png")
    (tmp_path / "mine" / "notes <old>.txt").touch()
    files = {"index": tmp_path / "index", "split": tmp_path / "split"}
    index([tmp_path / "mine"], "class_folders", files["index"])
    split(files["index"], "half", files["split"])
    report([study | {"folders": {"Mine": files}}], tmp_path / "report.html")
    words = Page(tmp_path / "report.html").words()
    assert "The images of Mine" in words
    lines = account_of(files["index"], files["split"])
    assert list(lines) == [
        *("Images", "Left out", "Classes with one image", "Classes with two images"),
        *("Classes that look alike", "Identical images", "Links", "Turned upright", "Depth"),
    ]
    for label, text in lines.items():
        assert f"{label} {text}" in words
    assert lines["Left out"].endswith("(notes <old>.txt)")
    assert "d <1> & 'e'" in lines["Classes with one image"]


def test_names_break_after_separators_only():
    said = breakable("001.Black_footed_<Albatross>")
    assert said == "001.<wbr>Black_<wbr>footed_&lt;Albatross&gt;"
