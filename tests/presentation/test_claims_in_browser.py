"""The page of claims in a real browser: what its script makes of its tables, and axe's opinion."""

import html
import re

import pytest
from browser import DESK, PHONE, opening, overflow
from project import REPOSITORY
from test_page_layout import AXE

pytestmark = pytest.mark.browser

PAGE = (REPOSITORY / "docs" / "claims.md").read_text().partition("<!-- from_claims: begin -->")[2]
THEME = REPOSITORY / "docs" / "theme"
VERDICTS = (
    "supported",
    "contradicted",
    "equivalent",
    "inconclusive",
    "not printed",
    "out of scope",
)


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def counted():
    """(paper, verdict) -> how many there are, by the table of counts, which the script leaves."""
    lines = [line for line in PAGE.partition("\n## ")[0].splitlines() if "|" in line]
    heads, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    found = {}
    for row in rows:
        of = dict(zip(heads, row, strict=True))
        for verdict in VERDICTS:
            # A paper's own grid has no column on the page.
            count = 0 if of["judged by"] == "ours" else int(of[verdict] or 0)
            key = (of["document"], verdict)
            found[key] = found.get(key, 0) + count
    return found


def as_html(table):
    """A table of Markdown, in which only `<br>` is HTML."""
    rows = [cells(line) for line in table.strip().splitlines()]
    lines = [
        "".join(f"<td>{html.escape(cell).replace('&lt;br&gt;', '<br>')}</td>" for cell in row)
        for row in rows[2:]
    ]
    head = "".join(f"<th>{cell}</th>" for cell in rows[0])
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The page as the site has it: headings, tables, script and style."""
    folder = tmp_path_factory.mktemp("site")
    papers = ""
    for section in PAGE.split("\n## ")[1:]:
        table = re.search(r"^\|(?:.*\n)+?(?!\|)", section, re.M)[0]
        name = section.split("\n")[0]
        papers += f'<h2 id="{name}">{name}</h2>{as_html(table)}'
    style = re.search(r"<style>.*?</style>", (THEME / "main.html").read_text(), re.S)[0]
    (folder / "claims.html").write_text(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Claims</title>'
        '<meta name="viewport" content="width=device-width">'
        "<style>.md-typeset__scrollwrap { overflow-x: auto }</style>"
        f"{style}<script>{(THEME / 'claims.js').read_text()}</script></head>"
        '<body data-md-color-scheme="default"><main><article class="md-content"><h1>Claims</h1>'
        f"{papers}</article></main></body></html>"
    )
    return folder


@pytest.fixture
def page(chromium, folder):
    with opening(chromium, folder) as open_page:
        yield open_page("claims.html")


def shown(page):
    return [int(number) for number in re.findall(r"\d+", page.locator("output").inner_text())]


def test_every_verdict_of_the_tables_is_a_row(page):
    rows = sum(counted().values())
    assert shown(page) == [rows, rows]
    assert page.locator("#verdicts tbody tr").count() == rows
    assert page.locator("article > table").count() == 0


def test_verdicts_are_filtered_by_paper_and_verdict(page):
    for (paper, verdict), count in counted().items():
        if count:
            page.select_option("select[name=paper]", paper)
            page.select_option("select[name=verdict]", verdict)
            assert shown(page)[0] == count, (paper, verdict)
            names = page.locator("#verdicts tbody td:first-child").all_inner_texts()
            assert set(names) == {paper}


def test_words_find_claims_and_what_decides_them(page):
    page.fill("input[name=words]", "hncm cars196")
    texts = page.locator("#verdicts tbody tr").all_inner_texts()
    assert texts
    assert all("hncm" in text.lower() and "cars196" in text.lower() for text in texts)


def test_differences_are_sorted_both_ways_and_drawn(page):
    page.select_option("select[name=verdict]", "contradicted")
    for direction in ("ascending", "descending"):
        page.click("th button[name=value]")
        labels = page.eval_on_selector_all(
            "#verdicts svg", "all => all.map(each => each.getAttribute('aria-label'))"
        )
        values = [float(label.split(",")[0].split(":")[0]) for label in labels]
        assert len(values) > 10
        assert values == sorted(values, reverse=direction == "descending")
        head = page.locator("th", has=page.locator("button[name=value]"))
        assert head.get_attribute("aria-sort") == direction


@pytest.mark.parametrize("viewport", [PHONE, DESK], ids=["phone", "desk"])
@pytest.mark.parametrize("scheme", ["default", "slate"])
def test_it_fits_the_window_and_axe_finds_nothing_serious(chromium, folder, viewport, scheme):
    with opening(chromium, folder) as open_page:
        page = open_page("claims.html", viewport=viewport)
        page.evaluate(f"document.body.dataset.mdColorScheme = '{scheme}'")
        if scheme == "slate":
            page.add_style_tag(content="body { background: #1e2129; color: #e2e4e9 }")
        page.select_option("select[name=paper]", "roth2020")
        assert overflow(page) <= 0
        if not AXE.is_file():
            pytest.skip("no axe-core here: make test-browser")
        page.add_script_tag(path=AXE)
        found = page.evaluate("axe.run()")["violations"]
        serious = [each["id"] for each in found if each["impact"] in ("serious", "critical")]
        assert serious == []
