"""docs/official.md says of each published study what it needs, and of no address that it works."""

import pytest
from dmlbench import plan
from dmlbench.marked_text import read_marked
from project import CONFIG, script_of_docs

CHOSEN = {"pathvars": {"results": "results"}, "studies": ["demo"]}


@pytest.fixture(scope="module")
def from_sources():
    return script_of_docs("from_sources")


@pytest.fixture(scope="module")
def loaded():
    return plan.load(CHOSEN, CONFIG)


@pytest.mark.slow
def test_the_tables_are_those_of_the_catalogs(from_sources):
    for name, table in from_sources.tables().items():
        written = read_marked(from_sources.PAGE, f"from_sources {name}")
        assert written == table, "config/ has changed: `make sources`"


@pytest.mark.parametrize(
    ("dataset", "networks", "expected"),
    [
        ("grocery81", ["efficientnet_lite0_frozen"], "yes, as runs of another encoding"),
        ("grocery_store", ["efficientnet_lite0_frozen"], "yes"),
        ("drawings", ["efficientnet_lite0_frozen"], "yes"),
        ("grocery81", ["mobilenet_v2"], "no: only mirrors have mobilenet_v2_tf-a3761d30.pth"),
        (
            "cub200_160",
            ["efficientnet_lite0_frozen"],
            "if data.caltech.edu has CUB_200_2011.tgz, as runs of another encoding",
        ),
        ("inshop", [], "no: only mirrors have img.zip"),
    ],
)
def test_the_public_can_get_what_somebody_has_opened(
    from_sources, loaded, dataset, networks, expected
):
    named = [loaded.networks[name].weights for name in networks]
    weights = {each.file: each for each in named}
    assert from_sources.verdict(loaded, [loaded.datasets[dataset]], weights) == expected


def test_what_is_said_to_be_opened_is_in_the_catalogs(from_sources, loaded):
    assert from_sources.OPENED.keys() <= from_sources.sources(loaded).keys()
