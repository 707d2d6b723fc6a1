"""The pages in a real browser: script, links, sorting, filtering, comparing."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from browser import PAGES, PHONE, WIDTHS, overflow

pytestmark = pytest.mark.browser


def column(page, number: int) -> list[str]:
    cells = f".browser tbody:not([hidden]) > tr:first-child > :nth-child({number})"
    return page.eval_on_selector_all(cells, "cells => cells.map(cell => cell.textContent.trim())")


@pytest.mark.parametrize("name", PAGES)
def test_every_link_and_every_image_is_there(opened, invented_pages, name):
    page = opened(name)
    links = page.eval_on_selector_all("a[href]", "all => all.map(each => each.href)")
    assert len(links) > 10
    ids = set(page.eval_on_selector_all("[id]", "all => all.map(each => each.id)"))
    here = (invented_pages / name).as_uri()
    for link in set(links):
        target, _, fragment = link.partition("#")
        if target == here:
            assert fragment in ids
        else:
            assert Path(unquote(target.removeprefix("file://"))).is_file(), link
    images = page.evaluate(WIDTHS)
    assert images
    assert all(width > 0 for width in images)


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
    # The name of a class, which may begin with a number, is whole, and below the distance.
    lines = page.locator(".browser .neighbors .wrong").first.inner_text().splitlines()
    assert len(lines) == 2
    assert re.fullmatch(r"\N{BALLOT X} [\d.e-]+", lines[0])
    assert re.fullmatch(r"class \d+|\S.*", lines[1])
    name = "001.Black_footed_Albatross" + 40 * "x"
    put = "(all, name) => all.forEach(each => { each.lastChild.textContent = name; })"
    page.eval_on_selector_all(".browser .neighbors .wrong", put, name)
    clipped = "all => all.filter(each => each.scrollWidth > each.clientWidth + 1).length"
    assert page.eval_on_selector_all(".browser .neighbors li", clipped) == 0


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


def test_hundreds_of_runs_fit_into_ten_megabytes(opened, tmp_path):
    from dmlbench import plan
    from dmlbench.plan.views import pages
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
