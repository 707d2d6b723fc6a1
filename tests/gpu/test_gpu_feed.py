"""Batches that reach a pretended GPU, resident or pinned, and what transforms make of them."""

import numpy as np
import pytest
import torch
from dmlbench.data import feed, pixels
from dmlbench.data.feed import Feed
from dmlbench.data.ragged import Ragged
from dmlbench.data.transforms import available, build_transforms
from pretended_gpu import PretendedTensor, host_waits, pretended_gpu
from stores import write_store

CPU = torch.device("cpu")
WANTED = [np.array(ids) for ids in ([3, 1], [8], [1, 1, 0, 2], [5])]
ROOM = {"resident": 1 << 30, "pinned": 0}
STEPS = {
    "center_crop": {"size": 8},
    "color_jitter": {"brightness": 0.2, "contrast": 0.2, "saturation": 0.2, "hue": 0.1},
    "normalize": {"mean": [0.4, 0.5, 0.6], "std": [0.2, 0.3, 0.2]},
    "random_affine": {"degrees": 10, "translate": 0.1},
    "random_crop": {"size": 8},
    "random_horizontal_flip": {},
    "random_resized_crop": {"size": 8},
    "resize": {"size": 9},
    "to_float": {},
}
# What cuts images of several sizes to one.
CUTS = ("center_crop", "random_crop", "random_resized_crop")


@pytest.fixture(params=["uniform", "mixed"])
def store(tmp_path, request):
    sizes = [(16, 14)] * 9
    if request.param == "mixed":
        sizes = [(12 + number % 4, 20 - number) for number in range(9)]
    return write_store(tmp_path, sizes)[0]


def images_of(batch):
    return [image.cpu() for image in batch]


def hold(store, way):
    """Raise unless the feed gives on the GPU what it gives on the CPU, resident or pinned."""
    expected = [images_of(batch) for batch in Feed(store, CPU).batches(WANTED)]
    with pretended_gpu(free=ROOM[way]) as gpu:
        there = Feed(store, gpu)
        assert (there._pixels is not store) == (way == "resident")
        found = []
        for batch in there.batches(WANTED):
            assert isinstance(batch.flat if isinstance(batch, Ragged) else batch, PretendedTensor)
            found.append(images_of(batch))
    for mine, reference in zip(found, expected, strict=True):
        assert all(torch.equal(*pair) for pair in zip(mine, reference, strict=True))


@pytest.mark.parametrize("way", ROOM)
def test_batches_are_the_same_there(store, way):
    hold(store, way)


@pytest.mark.parametrize(("share", "is_resident"), [(1, True), (0.5, False)])
def test_a_store_that_is_too_large_for_its_share_of_a_gpu_is_pinned(store, share, is_resident):
    with pretended_gpu(free=4 * store.bytes, total=4 * store.bytes) as gpu:
        assert (Feed(store, gpu, share)._pixels is not store) == is_resident


def test_all_transforms_are_tried_here():
    assert set(STEPS) == set(available())


def transformed(store, device, name):
    transform = build_transforms([{name: STEPS[name]}])
    generator = torch.Generator().manual_seed(3)
    return [transform(batch, generator) for batch in Feed(store, device).batches(WANTED)]


def hold_transform(store, way, name):
    """Raise unless images are the CPU's, up to the order in which pixels are weighted."""
    expected = transformed(store, CPU, name)
    with pretended_gpu(free=ROOM[way]) as gpu:
        found = transformed(store, gpu, name)
        assert all(images.is_cuda for images in found)
        found = [images.cpu() for images in found]
    for mine, reference in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, reference, rtol=0, atol=1.01 / 255)
        assert (mine - reference).abs().mean() < 0.3 / 255


@pytest.mark.parametrize("way", ROOM)
@pytest.mark.parametrize("name", STEPS)
def test_a_transform_is_the_same_there(store, way, name):
    if store.shape is None and name not in CUTS:
        pytest.skip("needs images of one size")
    hold_transform(store, way, name)


@pytest.mark.parametrize("way", ROOM)
@pytest.mark.parametrize("name", STEPS)
def test_the_host_does_not_wait_for_a_batch(store, way, name):
    if store.shape is None and name not in CUTS:
        pytest.skip("needs images of one size")
    transform, generator = build_transforms([{name: STEPS[name]}]), torch.Generator()
    with pretended_gpu(free=ROOM[way]) as gpu:
        batches = Feed(store, gpu).batches(WANTED)
        transform(next(batches), generator)  # constants are copied there once
        with host_waits() as waits:
            for batch in batches:
                transform(batch, generator)
    assert waits == []


def rows_of_the_cpu(monkeypatch):
    """A store that stays where it was while the feed says that it moved."""
    monkeypatch.setattr(pixels.Pixels, "to", lambda self, device: pixels.copy.copy(self))


def never_copied(monkeypatch):
    monkeypatch.setattr(feed.Feed, "_placed", lambda self, batch: batch)


@pytest.mark.parametrize(
    ("mistake", "way"), [(rows_of_the_cpu, "resident"), (never_copied, "pinned")]
)
def test_a_mistake_is_found(monkeypatch, store, mistake, way):
    mistake(monkeypatch)
    with pytest.raises((RuntimeError, AssertionError)):
        hold(store, way)


def test_a_mistake_in_a_transform_is_found(monkeypatch, store):
    from dmlbench.data.transforms import random_horizontal_flip

    drawn = random_horizontal_flip.uniform
    monkeypatch.setattr(random_horizontal_flip, "uniform", lambda *given: drawn(*given).cpu())
    if store.shape is None:
        pytest.skip("needs images of one size")
    with pytest.raises(RuntimeError):
        hold_transform(store, "pinned", "random_horizontal_flip")
