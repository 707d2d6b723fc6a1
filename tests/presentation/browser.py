"""Pages of invented studies, opened in a headless Chromium."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dmlbench.presentation.report import report
from invented import invent

STUDY = "can2019_omniglot"
PAGES = ("report.html", f"studies/{STUDY}/runs.html")

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}


def invent_pages(folder: Path) -> None:
    """The report of two studies and pages of their runs, all numbers invented."""
    page = invent(STUDY, folder, figures=False)
    page["figures"] = _figure(folder)
    ranked = invent("demo", folder, figures=False)
    report([page | {"rehearsal": True}, ranked], folder / "report.html")


def _figure(folder: Path) -> list[dict]:
    from dmlbench.presentation import style
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3))
    figure.subplots().plot([0, 1], [0, 1])
    files = {end: folder / f"figure.{end}" for end in ("png", "svg", "pdf")}
    style.save(figure, **files)
    return [{"id": "line", "title": "A line", "caption": "From 0 to 1.", **files}]


@contextlib.contextmanager
def headless() -> Iterator[Any]:
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


@contextlib.contextmanager
def opening(chromium, folder: Path) -> Iterator[Callable]:
    """Opens pages of a folder; messages of their scripts and missing files fail the test."""
    said, contexts = [], []

    def open_page(name, **options):
        contexts.append(chromium.new_context(**{"viewport": DESK} | options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("requestfailed", lambda request: said.append(request.url[:200]))
        page.goto((folder / name).as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []


def overflow(page) -> int:
    """By how many pixels the page is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


# Pictures of a run are loaded when it is opened.
WIDTHS = """async () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
  for (const image of document.images) image.loading = "eager";
  await Promise.all([...document.images].map((image) => image.decode()));
  return [...document.images].map((image) => image.naturalWidth);
}"""


def serious(page) -> list[str]:
    """What axe finds serious or critical; skips the test where there is no axe."""
    if not AXE.is_file():
        pytest.skip("no axe-core here: make test-browser")
    page.add_script_tag(path=AXE)
    # From a file a page may not load its styles a second time, which one rule alone reads.
    found = page.evaluate("axe.run({preload: false})")["violations"]
    return [each["id"] for each in found if each["impact"] in ("serious", "critical")]
