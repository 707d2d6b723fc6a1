"""How pages look in a real browser: on a phone, at a desk, in the dark, on paper, to axe."""

import pytest
from browser import AXE, DESK, PAGES, PHONE, WIDTHS, overflow
from dmlbench.inference.gallery import Neighbor
from dmlbench.inference.page import write_page
from PIL import Image

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("viewport", [PHONE, DESK], ids=["phone", "desk"])
def test_the_page_is_no_wider_than_the_window(opened, name, viewport):
    page = opened(name, viewport=viewport)
    for details in page.locator("details:not(.browser details)").all():
        details.evaluate("each => { each.open = true; }")
    assert overflow(page) <= 0


def test_letters_of_a_figure_can_be_read_on_a_phone(opened):
    page = opened(PAGES[0], viewport=PHONE)
    width = page.locator(".paper img").first.bounding_box()["width"]
    # Figures are about 7 inches wide with letters of 8.5 points.
    assert 8.5 / 72 * width / 7 >= 9


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_to_its_background(opened, name, scheme):
    page = opened(name, color_scheme=scheme)
    assert page.evaluate(_CONTRASTS) == []


_CONTRASTS = """() => {
  const channels = (text) => text.match(/[\\d.]+/g).map(Number);
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const luminance = (color) => {
    const [r, g, b] = color.map((channel) => linear(channel / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const color = channels(getComputedStyle(each).backgroundColor);
      if (color.length === 3 || color[3] > 0.99) return color;
    }
    return [255, 255, 255];
  };
  const texts = "p, span, th, td, a, h1, h2, h3, h4, strong, summary, button, dt, dd, code, label";
  const low = [];
  for (const element of document.querySelectorAll(texts)) {
    const shown = element.textContent.trim() && element.getClientRects().length;
    if (!shown || element.closest(".skip")) continue;
    const colors = [channels(getComputedStyle(element).color), behind(element)];
    const [dark, light] = colors.map(luminance).sort((a, b) => a - b);
    if ((light + 0.05) / (dark + 0.05) < 4.5) low.push(element.outerHTML.slice(0, 120));
  }
  return low.slice(0, 5);
}"""


@pytest.mark.skipif(not AXE.is_file(), reason="no axe-core here: make test-browser")
@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [PHONE, DESK], ids=["phone", "desk"])
def test_axe_finds_no_violation(opened, name, scheme, viewport):
    page = opened(name, color_scheme=scheme, viewport=viewport)
    # All collapsible elements, but only a few of the runs, which are alike.
    page.eval_on_selector_all(
        "details:not(.browser details), .browser tbody:nth-of-type(-n + 3) details",
        "all => all.forEach(each => { each.open = true; })",
    )
    page.add_script_tag(path=AXE)
    found = page.evaluate("axe.run()")
    assert len(found["passes"]) > 20
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found["violations"]] == []


@pytest.mark.parametrize("name", PAGES)
def test_on_paper_nothing_is_cut_off_and_nothing_sticks(opened, name):
    page = opened(name, viewport={"width": 718, "height": 1000})
    page.emulate_media(media="print")
    wide = "all => all.filter(each => each.getBoundingClientRect().right > innerWidth + 1).length"
    assert page.eval_on_selector_all(".item table td, .board td", wide) == 0
    sticks = "all => all.filter(each => getComputedStyle(each).position === 'sticky').length"
    assert page.eval_on_selector_all("thead, tbody th", sticks) == 0
    assert not page.locator("nav").is_visible()


@pytest.mark.parametrize("viewport", [PHONE, DESK])
def test_what_a_search_found_fits_whatever_its_names(opened, invented_pages, viewport):
    picture = invented_pages / ("x" * 120) / f"{'y' * 120}.png"
    picture.parent.mkdir(exist_ok=True)
    Image.new("RGB", (400, 100)).save(picture)
    found = [Neighbor(str(picture), 0.1)] * 9
    write_page(picture, found, f"by results/{'z' * 200}", invented_pages / "search.html")
    page = opened("search.html", viewport=viewport)
    assert overflow(page) <= 0
    assert page.evaluate(WIDTHS) == [320] * 10
    tops = page.eval_on_selector_all("li", "all => all.map(each => each.offsetTop)")
    assert tops.count(tops[0]) == (2 if viewport is PHONE else 5)
