"""Pages of the site in a real browser, in light and in dark: axe's opinion, and a phone's width."""

import pytest
from browser import DESK, PHONE, opening, overflow, serious

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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(chromium, site, name, scheme):
    with opening(chromium, site) as open_page:
        page = open_page(f"{name}.html", viewport=DESK, color_scheme=scheme)
        shown = {"light": "default", "dark": "slate"}[scheme]
        assert page.evaluate("document.body.dataset.mdColorScheme") == shown
        assert serious(page) == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_no_wider_than_a_phone(chromium, site, name):
    with opening(chromium, site) as open_page:
        assert overflow(open_page(f"{name}.html", viewport=PHONE)) <= 0
