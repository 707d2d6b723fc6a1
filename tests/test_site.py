"""The site that `make docs` builds: complete, and readable without a network."""

import re
from pathlib import Path

import pytest
from dmlbench import registry
from project import REPOSITORY

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pages(site):
    """Place of each page -> its HTML."""
    return {page: page.read_text() for page in site.rglob("*.html")}


def test_every_page_is_there(pages):
    names = {page.stem for page in pages}
    assert {page.stem for page in (REPOSITORY / "docs").rglob("*.md")} <= names
    assert {"index", "CONTRIBUTING", "CHANGELOG"} <= names


def test_nothing_is_loaded_from_elsewhere(pages):
    loaded = re.compile(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"?(?:https?:)?//[^>]*")
    assert [found for text in pages.values() for found in loaded.findall(text)] == []


def test_the_start_fits_and_shows_no_search_without_a_server(pages):
    (start,) = (
        text for page, text in pages.items() if page.name == "index.html" and "My pictures" in text
    )
    assert 'toggle("from-file", location.protocol === "file:")' in start
    block = re.search(r"^```\n(.*?)```", (REPOSITORY / "README.md").read_text(), re.M | re.S)[1]
    assert max(map(len, block.splitlines())) < 80


def test_every_link_of_a_page_leads_to_a_file(pages):
    link = re.compile(r'(?:href|src)="([^"#:]+)(?:#[^"]*)?"')
    missing = [
        f"{page.name}: {target}"
        for page, text in pages.items()
        for target in link.findall(text.partition("<article")[2].partition("</article>")[0])
        if not (page.parent / target).exists()
    ]
    assert missing == []


@pytest.mark.parametrize("package", ["losses", "miners", "samplers", "regularizers"])
def test_every_method_has_its_docstring_in_the_reference(pages, package):
    (text,) = (text for page, text in pages.items() if page == Path(page.parent, f"{package}.html"))
    for name in registry.available(package):
        assert f'id="dmlbench.{package}.{name}"' in text
