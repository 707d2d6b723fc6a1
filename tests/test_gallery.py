"""docs/gallery.md: what the library gives now, and examples that run without the workflow."""

import re
import sys

import pytest
import torch
from dmlbench.losses import available
from dmlbench.marked_text import read_marked
from project import REPOSITORY

DOCS = REPOSITORY / "docs"
CALL = re.compile(r'loss = build_loss\("(\w+)", num_classes=10.*')
TRAINING, WITH_A_MINER, DISTRIBUTED = re.findall(
    r"^```python\n(.*?)^```$", (DOCS / "gallery.md").read_text(), re.MULTILINE | re.DOTALL
)


@pytest.fixture(scope="module")
def gallery():
    sys.path.insert(0, str(DOCS))
    import gallery

    sys.path.remove(str(DOCS))
    return gallery


@pytest.mark.slow
def test_the_sections_are_those_of_the_library(gallery):
    written = read_marked(gallery.PAGE, "gallery")
    assert written == gallery.sections(), "the library has changed: `make gallery`"
    assert re.findall("^## (.*)$", written, re.MULTILINE) == list(available())


def test_the_pictures_are_those_of_the_library(gallery):
    assert {file.stem for file in gallery.PICTURES.iterdir()} == {*available()}
    number = re.compile(r"-?\d+\.\d")
    for name in available():
        written, now = (gallery.PICTURES / f"{name}.svg").read_text(), gallery.picture(name)
        assert number.sub("", written) == number.sub("", now), f"{name}: `make gallery`"
        # Another CPU may round a tenth of a pixel differently.
        places = [[float(found) for found in number.findall(text)] for text in (written, now)]
        assert places[0] == pytest.approx(places[1], abs=0.15), f"{name}: `make gallery`"


def test_a_picture_shows_steps_that_lower_the_loss(gallery):
    """Of contrastive, by its equation; a point with a weak force has no arrow."""
    drawn = gallery.picture("contrastive").split('<circle cx="')[2:]
    places = [[float(number) for number in re.findall(r"\d+\.\d", point)] for point in drawn]
    points = torch.tensor([place[:2] for place in places])
    ends = torch.tensor([place[4:6] or place[:2] for place in places])
    labels = torch.arange(3).repeat_interleave(3)

    def loss(places):
        x = torch.nn.functional.normalize((places - 120) * torch.tensor([1.0, -1]))
        S, same = x @ x.T, labels[:, None] == labels
        return (S - 0.5)[~same].relu().sum() - S[same].sum()

    assert len(drawn) == 9
    assert loss(points + 0.1 * (ends - points)) < loss(points)


@pytest.mark.parametrize("name", available())
def test_a_loss_is_used_as_the_page_says(gallery, name):
    (call,) = [
        found[0] for found in CALL.finditer(gallery.PAGE.read_text()) if f'"{name}"' in found[0]
    ][-1:]
    torch.manual_seed(0)
    used = {}
    exec(CALL.sub(lambda _: call, TRAINING), used)  # noqa: S102 (of our own page)
    assert used["network"].weight.grad.isfinite().all()
    assert used["network"].weight.grad.any()
    assert len(TRAINING.split("\n")) <= 12


def test_a_miner_and_a_memory_are_used_as_the_page_says():
    used = {}
    exec(WITH_A_MINER, used)  # noqa: S102 (of our own page)
    assert used["embeddings"].grad.any()


def test_a_loss_of_gathered_embeddings_is_used_as_the_page_says():
    used = {}
    exec(DISTRIBUTED, used)  # noqa: S102 (of our own page)
    assert used["network"][0].weight.grad.any()
