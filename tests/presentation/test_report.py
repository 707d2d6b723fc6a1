"""The report and the terminal's summary of a synthetic study."""

import base64
import re
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from dmlbench import registry
from dmlbench.errors import UserError
from dmlbench.presentation.report import duration, report
from dmlbench.presentation.study import headline
from dmlbench.presentation.style import save
from dmlbench.presentation.table import write
from dmlbench.presentation.terminal import summary
from dmlbench.statistics.aggregation import timings
from dmlbench.statistics.audit import audit
from dmlbench.statistics.tournament import write_tournament
from run_files import run_files

PSOMAS = Path(__file__).parents[2] / "config" / "reference" / "psomas2020"


def make_study(folder, scores, titles, methods, selection="best_test_epoch"):
    folder.mkdir(parents=True)
    scores.to_parquet(folder / "scores.parquet")
    rows, files = run_files(scores, folder / "runs")
    write_tournament(
        rows,
        files,
        folder / "tournament.csv",
        metric="recall_at_1",
        methods=methods,
        selection=selection,
    )
    (folder / "benchmark.tsv").write_text("s\tmax_rss\n90.0\t512.0\n")
    run = {"train": folder / "benchmark.tsv"}
    timings({"run/a": run, "run/b": run}, folder / "timings.csv")
    options = {"methods": methods, "selection": selection, "title": "R & <R>"}
    kind = registry.build(
        "presentation/tables", "scores_by_method", id="t1", metrics=["recall_at_1"], **options
    )
    table = {end: folder / "tables" / f"t1.{end}" for end in ("csv", "md", "tex", "html")}
    write(kind(scores, titles), **table)
    kind = registry.build("presentation/figures", "recall_by_embedding_dim", **options)
    figure = {end: folder / "figures" / f"f1.{end}" for end in ("png", "svg", "pdf")}
    save(kind(scores, titles), **figure)
    return {
        "id": folder.name,
        "title": "Losses & <letters>",
        "description": "A description.",
        "question": "Which loss?",
        "command": "snakemake demo --cores 2",
        "selection": selection,
        "metric": "recall_at_1",
        "methods": methods,
        "ranked": rows,
        "baseline": "untrained",
        "titles": titles,
        "scores": folder / "scores.parquet",
        "tournament": folder / "tournament.csv",
        "timings": folder / "timings.csv",
        "tables": [{"id": "t1", "title": "R & <R>", "caption": "Our table.", **table}],
        "figures": [{"id": "f1", "title": "By size", "caption": "Our figure.", **figure}],
        "protocol": {"Data set": "glyphs, 240 characters", "Software": "torch 2.15.0"},
    }


@pytest.fixture
def study(tmp_path, synthetic_scores, titles, methods):
    return make_study(tmp_path / "results" / "demo", synthetic_scores(), titles, methods)


class Page(HTMLParser):
    """Links, sources, ids, text, and whether every tag is closed."""

    void = frozenset({"meta", "img", "br", "link", "hr", "input"})

    def __init__(self, path):
        super().__init__()
        self.links, self.sources, self.ids, self.text, self.open = [], [], [], [], []
        self.feed(Path(path).read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.links += [attrs["href"]] if "href" in attrs else []
        self.sources += [attrs["src"]] if "src" in attrs else []
        self.ids += [attrs["id"]] if "id" in attrs else []
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.text.append(data)

    def words(self):
        return " ".join(" ".join(self.text).split())


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
    (_, best, *_), *_ = fewer.metrics
    assert best == pytest.approx(80.0)


def test_the_winner_stands_next_to_what_speaks_against_it(study, tmp_path):
    report([study], tmp_path / "results" / "report.html")
    words = Page(tmp_path / "results" / "report.html").words()
    assert re.search(
        r"winner ProxyAnchor of 3 losses in 2 experiments Friedman's test finds no method apart "
        r"from the others \(p = 0\.14\)\. One seed: another one may give another order\.",
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


def test_the_headline_is_the_winner_beside_the_untrained_network(study, tmp_path):
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
    # Three methods in the same order twice: chi-square 4 with 2 degrees, p = exp(-2).
    assert "p = 0.14; Nemenyi's critical difference of mean ranks: 2.34" in without
    assert "other test images" not in without
    board = pd.read_csv(study["tournament"])
    board = board.assign(rank_low=1, rank_high=[1, 2.5, 3], probability_first=[0.75, 0.25, 0])
    board.to_csv(study["tournament"], index=False)
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


def test_the_printed_numbers_have_their_section(study, tmp_path):
    audit(PSOMAS, tmp_path / "results" / "audit.csv", tmp_path / "results" / "audit.md")
    study["audit"] = {end: tmp_path / "results" / f"audit.{end}" for end in ("csv", "md")}
    report([study], tmp_path / "results" / "report.html")
    words = Page(tmp_path / "results" / "report.html").words()
    assert "Printed numbers, checked" in words
    assert "27 of 30 agree" in words
    assert "Triplet tournament average rank 8.85 8.5833 certain" in words
    assert "R@10 is lower than R@1" in words


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


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (4.21, "4.2 s"),
        (59.97, "1 min 00 s"),
        (200, "3 min 20 s"),
        (3599.6, "1 h 00 min"),
        (7500, "2 h 05 min"),
    ],
)
def test_durations(seconds, text):
    assert duration(seconds) == text.replace(" ", "\N{NO-BREAK SPACE}")


def test_the_terminal_summary(study, tmp_path):
    text = summary(study, report="results/report.html", next_steps=["snakemake omniglot"])
    head, files = text.split("\ntable   ")
    assert head == (
        "Losses & <letters>\n"
        "==================\n"
        "\n"
        "Tournament by R@1 (test-selected), 2 experiments, 8 runs\n"
        "\n"
        "     loss         total  mean   std\n"
        "  1  ProxyAnchor      2  1.00  0.00\n"
        "  2  Contrastive      4  2.00  0.00\n"
        "  3  Triplet          6  3.00  0.00\n"
        "  Friedman's test finds no method apart from the others (p = 0.14).\n"
        "  One seed: another one may give another order.\n"
        "\n"
        "  percent, mean of 2 runs  ProxyAnchor, test-selected  last epoch  Untrained network\n"
        "  R@1                                           80.50       78.50              20.50\n"
    )
    assert files.splitlines() == [
        f"{study['tables'][0]['md']}",
        f"figure  {study['figures'][0]['png']}",
        f"scores  {study['scores']}",
        "report  results/report.html",
        "",
        "Next:",
        "  snakemake omniglot",
    ]


def test_the_terminal_marks_ties(tmp_path, synthetic_scores, titles, methods):
    scores = synthetic_scores(dims=[64])
    scores.loc[scores.method == "triplet", "value"] += 0.10
    folder = tmp_path / "results" / "demo"
    study = make_study(folder, scores, titles, methods, selection="last_epoch")
    lines = summary(study).splitlines()
    assert lines[3] == "Tournament by R@1 (last epoch), 1 experiment, 4 runs"
    assert lines[5:10] == [
        "     loss           total  mean  std",
        "  1  ProxyAnchor        1  1.00    -",
        "  2  Contrastive =    2.5  2.50    -",
        "  3  Triplet =        2.5  2.50    -",
        "  = shares a rank in some experiment",
    ]


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
