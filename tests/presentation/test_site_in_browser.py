"""Pages of the site in a real browser, in light and in dark: axe's opinion, and a phone's width."""

import pytest
from browser import DESK, PHONE, overflow
from test_page_layout import AXE

pytestmark = pytest.mark.browser

PAGES = (
    "index",
    "results",
    "claims",
    "which_loss",
    "running",
    "intervals",
    "gallery",
    "protocols",
    "findings/heads",
    "findings/whose_order",
)


@pytest.fixture
def opened(chromium, site):
    """Opens a page of the site."""
    contexts = []

    def open_page(name, **options):
        contexts.append(chromium.new_context(**options))
        page = contexts[-1].new_page()
        page.goto((site / f"{name}.html").as_uri())
        page.wait_for_load_state("load")
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.skipif(not AXE.is_file(), reason="no axe-core here: make test-browser")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(opened, name, scheme):
    page = opened(name, viewport=DESK, color_scheme=scheme)
    shown = {"light": "default", "dark": "slate"}[scheme]
    assert page.evaluate("document.body.dataset.mdColorScheme") == shown
    page.add_script_tag(path=AXE)
    found = page.evaluate("axe.run()")["violations"]
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_no_wider_than_a_phone(opened, name):
    assert overflow(opened(name, viewport=PHONE)) <= 0
