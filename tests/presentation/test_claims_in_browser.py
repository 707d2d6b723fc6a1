"""The page of claims in a real browser: what its script makes of its tables."""

import re

import pytest
from browser import DESK, PHONE, opening, overflow, serious
from project import REPOSITORY

pytestmark = pytest.mark.browser

PAGE = (REPOSITORY / "docs" / "claims.md").read_text().partition("<!-- from_claims: begin -->")[2]
VERDICTS = (
    "supported",
    "contradicted",
    "equivalent",
    "inconclusive",
    "not printed",
    "out of scope",
)

OF_PAPERS = "article table:not(#verdicts table):has(th:text-is('claim'))"


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


@pytest.fixture
def page(chromium, site):
    with opening(chromium, site) as open_page:
        yield open_page("claims.html")


def shown(page):
    return [int(number) for number in re.findall(r"\d+", page.locator("output").inner_text())]


def test_every_verdict_of_the_tables_is_a_row(page):
    rows = sum(counted().values())
    assert shown(page) == [rows, rows]
    assert page.locator("#verdicts tbody tr").count() == rows
    assert page.locator(OF_PAPERS).count() == 0


def test_without_a_script_the_tables_stay(chromium, site):
    with opening(chromium, site) as open_page:
        page = open_page("claims.html", java_script_enabled=False)
        assert page.locator(OF_PAPERS).count() == len({paper for paper, _ in counted()})


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
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_filtered_it_fits_the_window_and_axe_finds_nothing_serious(
    chromium, site, viewport, scheme
):
    with opening(chromium, site) as open_page:
        page = open_page("claims.html", viewport=viewport, color_scheme=scheme)
        page.select_option("select[name=paper]", "roth2020")
        assert overflow(page) <= 0
        assert serious(page) == []
