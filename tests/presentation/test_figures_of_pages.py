"""Figures of README and docs: letters that can be read, and words for who does not see them."""

import re
from pathlib import Path

import pytest
from browser import DESK, PHONE, opening, overflow
from PIL import Image
from project import REPOSITORY

PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
SHOWN = re.compile(r"!\[([^]]*)\]\(([^)]+)\)")
WIDTH = 688
"""Pixels of a page of the site, at a desk."""

SMALLEST = 8
"""Points of the smallest letters of a figure (presentation/style.py and figures/)."""

LEAST = 8.5
"""Pixels that letters must have to be read."""

FIGURES = {
    (page.parent / target).resolve(): " ".join(words.split())
    for page in PAGES
    for words, target in SHOWN.findall(page.read_text())
}
PUBLISHED = [file for file in FIGURES if "published" in file.parts]


def inches(figure: Path) -> float:
    with Image.open(figure) as image:
        return image.width / image.info["dpi"][0]


@pytest.mark.parametrize("figure", PUBLISHED, ids=lambda file: f"{file.parts[-3]}-{file.stem}")
def test_letters_of_a_figure_as_wide_as_its_page_can_be_read(figure):
    assert SMALLEST / 72 * WIDTH / inches(figure) >= LEAST


def test_the_words_for_a_figure_say_what_it_shows_after_what_it_is():
    assert [FIGURES[file] for file in PUBLISHED if ": " not in FIGURES[file]] == []


@pytest.mark.browser
@pytest.mark.parametrize("viewport", [PHONE, DESK], ids=["phone", "desk"])
def test_a_figure_is_as_large_on_a_phone_and_scrolls_there(chromium, tmp_path, viewport):
    theme = (REPOSITORY / "docs" / "theme" / "main.html").read_text()
    style = re.search(r"<style>.*?</style>", theme, re.DOTALL)[0]
    images = "".join(f'<p><img src="{file.as_uri()}"></p>' for file in PUBLISHED)
    (tmp_path / "figures.html").write_text(
        '<meta name="viewport" content="width=device-width"><style>img { max-width: 100% }</style>'
        f'{style}<article class="md-content" style="max-width: {WIDTH}px">{images}</article>'
    )
    with opening(chromium, tmp_path) as open_page:
        page = open_page("figures.html", viewport=viewport)
        page.wait_for_load_state("load")
        assert overflow(page) <= 0
        widths = page.eval_on_selector_all("img", "all => all.map(each => each.width)")
    letters = [
        SMALLEST / 72 * width / inches(file) for width, file in zip(widths, PUBLISHED, strict=True)
    ]
    assert min(letters) >= LEAST
