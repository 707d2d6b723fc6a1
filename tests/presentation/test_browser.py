"""The pages in a real browser: script, links, sorting, filtering, phone, dark mode, print."""

import re
import shutil
from pathlib import Path
from urllib.parse import unquote

import pytest
from dmlbench.inference.gallery import Neighbor
from dmlbench.inference.page import write_page
from dmlbench.presentation.report import report
from invented import invent
from PIL import Image

pytestmark = pytest.mark.browser

STUDY = "can2019_omniglot"
PAGES = ("report.html", f"studies/{STUDY}/runs.html")

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder with the report of two studies and pages of their runs, all numbers invented."""
    folder = tmp_path_factory.mktemp("results")
    page = invent(STUDY, folder, figures=False)
    page["figures"] = _figure(folder)
    ranked = invent("demo", folder, figures=False)
    report([page | {"rehearsal": True}, ranked], folder / "report.html")
    return folder


def _figure(folder: Path) -> list[dict]:
    from dmlbench.presentation import style
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3))
    figure.subplots().plot([0, 1], [0, 1])
    files = {end: folder / f"figure.{end}" for end in ("png", "svg", "pdf")}
    style.save(figure, **files)
    return [{"id": "line", "title": "A line", "caption": "From 0 to 1.", **files}]


@pytest.fixture(scope="module")
def chromium():
    """A headless Chromium: the system's, or the one installed by playwright."""
    reason = "no playwright here: install the test group of pyproject.toml"
    playwright = pytest.importorskip("playwright.sync_api", reason=reason)
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    with playwright.sync_playwright() as started:
        own = Path(started.chromium.executable_path)
        if program is None and not own.is_file():
            pytest.skip(
                "no Chromium here: apt-get install chromium, or playwright install chromium"
            )
        options = {"executable_path": program} if program else {}
        browser = started.chromium.launch(args=["--no-sandbox"], **options)
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, results):
    """Open a page; messages of its script and missing files fail the test at its end."""
    said, contexts = [], []

    def open_page(name, **options):
        contexts.append(chromium.new_context(**{"viewport": DESK} | options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("requestfailed", lambda request: said.append(request.url[:200]))
        page.goto((results / name).as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []


def overflow(page) -> int:
    """By how many pixels the page is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


def column(page, number: int) -> list[str]:
    cells = f".browser tbody:not([hidden]) > tr:first-child > :nth-child({number})"
    return page.eval_on_selector_all(cells, "cells => cells.map(cell => cell.textContent.trim())")


@pytest.mark.parametrize("name", PAGES)
def test_every_link_and_every_image_is_there(opened, results, name):
    page = opened(name)
    links = page.eval_on_selector_all("a[href]", "all => all.map(each => each.href)")
    assert len(links) > 10
    ids = set(page.eval_on_selector_all("[id]", "all => all.map(each => each.id)"))
    here = (results / name).as_uri()
    for link in set(links):
        target, _, fragment = link.partition("#")
        if target == here:
            assert fragment in ids
        else:
            assert Path(unquote(target.removeprefix("file://"))).is_file(), link
    images = page.evaluate(_WIDTHS)
    assert images
    assert all(width > 0 for width in images)


# Pictures of a run are loaded when it is opened.
_WIDTHS = """async () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
  for (const image of document.images) image.loading = "eager";
  await Promise.all([...document.images].map((image) => image.decode()));
  return [...document.images].map((image) => image.naturalWidth);
}"""


@pytest.mark.parametrize("viewport", [PHONE, DESK])
def test_what_a_search_found_fits_whatever_its_names(opened, results, viewport):
    picture = results / ("x" * 120) / f"{'y' * 120}.png"
    picture.parent.mkdir(exist_ok=True)
    Image.new("RGB", (400, 100)).save(picture)
    found = [Neighbor(str(picture), 0.1)] * 9
    write_page(picture, found, f"by results/{'z' * 200}", results / "search.html")
    page = opened("search.html", viewport=viewport)
    assert overflow(page) <= 0
    assert page.evaluate(_WIDTHS) == [320] * 10
    tops = page.eval_on_selector_all("li", "all => all.map(each => each.offsetTop)")
    assert tops.count(tops[0]) == (2 if viewport is PHONE else 5)


def test_neighbors_are_right_or_wrong_by_word_and_by_frame(opened):
    page = opened(PAGES[1])
    page.locator(".browser summary").first.click()
    queries = page.locator(".browser .parts").first.locator(".neighbors")
    assert queries.count() == 10
    ranks = [
        int(re.search(r"\((\d+)\)", text)[1])
        for text in queries.locator(".query").all_inner_texts()
    ]
    assert ranks[:5] == sorted(ranks[:5], reverse=True)
    assert ranks[5:] == [1] * 5
    for kind, sign, frame in (
        ("right", "\N{CHECK MARK}", "solid"),
        ("wrong", "\N{BALLOT X}", "dashed"),
    ):
        found = page.locator(f".browser .neighbors .{kind}")
        assert found.count()
        assert all(text.startswith(sign) for text in found.all_text_contents())
        style = "image => getComputedStyle(image).borderTopStyle"
        assert found.locator("img").first.evaluate(style) == frame


def test_columns_are_sorted_both_ways(opened):
    page = opened(PAGES[1])
    heads = page.eval_on_selector_all(
        ".browser thead th", "all => all.map(each => each.textContent.trim())"
    )
    place = heads.index("R@1") + 1
    head = page.locator(".browser thead th").nth(place - 1)
    before = column(page, place)
    head.locator("button").click()
    assert column(page, place) == sorted(before, key=float, reverse=True)
    assert head.get_attribute("aria-sort") == "descending"
    head.locator("button").press("Enter")
    assert column(page, place) == sorted(before, key=float)
    page.locator(".browser thead th").first.locator("button").click()
    assert column(page, 1) == sorted(column(page, 1))
    assert head.get_attribute("aria-sort") is None


def test_words_filter_runs(opened):
    page = opened(PAGES[1])
    everything = len(column(page, 1))
    assert page.locator("output").inner_text() == f"{everything} of {everything} runs"
    page.fill("#words", "Triplet profs seed1")
    found = column(page, 1)
    assert found == ["Triplet"] * 2
    assert page.locator("output").inner_text() == f"2 of {everything} runs"
    page.fill("#words", "nothing of the kind")
    assert column(page, 1) == []
    page.fill("#words", "")
    assert len(column(page, 1)) == everything


def test_a_run_opens_without_a_script(chromium, opened):
    page = opened(PAGES[1], java_script_enabled=False)
    assert page.locator(".filter").is_hidden()
    page.locator(".browser summary").nth(4).click()
    shown = page.locator(".browser .parts").nth(4)
    assert shown.is_visible()
    words = shown.inner_text()
    assert re.search(r"Different here: .*sampler\.name profs", words)
    assert words.startswith("spec history scores queries")
    assert words.index("Worst queries") < words.index("Best queries")
    assert "R@1 by class" in words
    assert page.locator(".browser svg.curve polyline").count() >= 36


def test_two_picked_runs_are_compared(opened):
    page = opened(PAGES[1])
    panel, boxes = page.locator(".compare"), page.locator(".browser .pick")
    boxes.nth(0).check()
    assert panel.is_hidden()
    boxes.nth(7).check()
    rows = page.eval_on_selector_all(
        ".compare tbody tr", "all => all.map(row => [...row.cells].map(cell => cell.textContent))"
    )
    differing = {name: values for name, *values in rows}
    assert differing["R@1"] == [column(page, 4)[0], column(page, 4)[7]]
    assert differing["seed"] == ["0", "1"]
    assert differing["sampler.name"] == ["class_balanced", "profs_hncm"]
    assert differing["regularizers"][0] == "\N{EN DASH}"
    assert all(one != other for one, other in differing.values())
    assert panel.locator(".curve").count() == 2
    assert panel.locator(".neighbors").count() == 20
    assert overflow(page) <= 0
    boxes.nth(1).check()
    assert not boxes.nth(0).is_checked()
    panel.get_by_text("Close").click()
    assert panel.is_hidden()
    assert not boxes.nth(7).is_checked()


def test_the_best_loss_is_nearest_to_the_first_rank(opened):
    page = opened(PAGES[0])
    at = "dots => dots.map(each => each.getBoundingClientRect().left)"
    places = page.eval_on_selector_all(".board .dot", at)
    assert places == sorted(places)
    assert places[0] < places[-1]
    tiles = page.locator(".cards li")
    edges = [box["x"] + box["width"] for box in (each.bounding_box() for each in tiles.all())]
    rows = {each.bounding_box()["y"] for each in tiles.all()}
    cards = page.locator(".cards").bounding_box()
    assert sum(abs(edge - cards["x"] - cards["width"]) < 1 for edge in edges) == len(rows)
    assert "Ties" not in page.locator(".board thead").inner_text()


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


AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"


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


def test_hundreds_of_runs_fit_into_ten_megabytes(opened, tmp_path):
    from dmlbench import plan
    from dmlbench.plan import pages
    from dmlbench.presentation.runs import write_runs
    from dmlbench.statistics.aggregation import aggregate
    from invented import CONFIG, invent_neighbors, invent_run

    study = "psomas2020"
    loaded = plan.load({"pathvars": {"results": str(tmp_path)}, "studies": [study]}, CONFIG)
    facts = pages.browsed(loaded, study)
    for row in loaded.rows(study):
        invent_run(loaded, row, tmp_path, queries=600)
    rows = [
        {key: value for key, value in row.items() if key != "selection"} for row in facts["rows"]
    ]
    files = [tmp_path / "runs" / row["run"] / "scores.parquet" for row in rows]
    aggregate(rows, files, facts["study"]["scores"], runs=tmp_path / "runs.csv")
    facts["study"]["timings"] = None
    invent_neighbors(loaded, study, tmp_path, tmp_path / "neighbors")
    write_runs(output=tmp_path / "runs.html", neighbors=tmp_path / "neighbors", **facts)
    assert (tmp_path / "runs.html").stat().st_size < 10e6
    page = opened(tmp_path / "runs.html", viewport=PHONE)
    assert page.locator(".browser tbody").count() == len(rows)
    assert overflow(page) <= 0
    page.fill("#words", "ProxyAnchor bninception d512 half10fold")
    assert len(column(page, 1)) == 10
