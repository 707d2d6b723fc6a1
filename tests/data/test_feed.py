"""A feed delivers what the store holds, in order, whichever side stops first."""

import threading

import numpy as np
import pytest
import torch
from dmlbench.data.feed import Feed
from dmlbench.data.pixels import Pixels
from dmlbench.data.ragged import Ragged
from dmlbench.errors import DamagedError, UserError
from stores import write_store

CPU = torch.device("cpu")
GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


def ids(*batches):
    return [np.array(batch) for batch in batches]


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("feed")]


@pytest.fixture
def uniform(tmp_path):
    """Nine images of 5 x 4 pixels: the store, and the images [H, W, C]."""
    return write_store(tmp_path, [(5, 4)] * 9)


@pytest.fixture
def mixed(tmp_path):
    """Nine images of several sizes."""
    return write_store(tmp_path, [(3 + number % 4, 9 - number) for number in range(9)])


@pytest.mark.parametrize("ahead", [0, 1, 3, 100])
def test_batches_of_one_size_are_tensors_in_the_order_asked_for(uniform, ahead):
    store, images = uniform
    wanted = ids([3, 1], [8], [1, 1, 0, 2], [5])
    batches = list(Feed(store, CPU).batches(wanted, ahead))
    assert len(batches) == len(wanted)
    for batch, numbers in zip(batches, wanted, strict=True):
        expected = np.stack([images[number] for number in numbers]).transpose(0, 3, 1, 2)
        assert batch.dtype == torch.uint8
        assert np.array_equal(batch, expected)


@pytest.mark.parametrize("ahead", [0, 3])
def test_batches_of_several_sizes_are_ragged(mixed, ahead):
    store, images = mixed
    wanted = ids([3, 1], [8], [1, 1, 0, 2], [5])
    for batch, numbers in zip(Feed(store, CPU).batches(wanted, ahead), wanted, strict=True):
        assert isinstance(batch, Ragged)
        assert len(batch) == len(numbers)
        for image, number in zip(batch, numbers, strict=True):
            assert np.array_equal(image.permute(1, 2, 0), images[number])


def test_batches_can_be_written_to_without_harm_to_the_store(mixed):
    store, images = mixed
    (batch,) = Feed(store, CPU).batches(ids([0, 1]))
    batch.flat.zero_()
    for image, expected in zip(store.batch([0, 1]), images, strict=False):
        assert np.array_equal(image.permute(1, 2, 0), expected)


def test_no_batches_are_no_batches(uniform):
    assert list(Feed(uniform[0], CPU).batches([])) == []


def test_ids_are_drawn_by_the_callers_thread_and_no_further_ahead_than_said(uniform):
    drawn = []

    def wanted():
        for number in range(9):
            drawn.append(threading.current_thread())
            yield np.array([number])

    for ahead in (0, 2):
        drawn.clear()
        batches = Feed(uniform[0], CPU).batches(wanted(), ahead)
        for seen in range(1, 5):
            next(batches)
            assert drawn == [threading.current_thread()] * (seen + ahead)
        batches.close()


def test_an_error_reaches_the_caller_after_the_batches_before_it(uniform):
    batches = Feed(uniform[0], CPU).batches(ids([0], [1], [99], [2]))
    assert len(next(batches)) == len(next(batches)) == 1
    with pytest.raises(UserError, match="no image has the id 99"):
        next(batches)
    assert threads() == []


def test_an_error_of_whoever_draws_ids_reaches_the_caller(uniform):
    def wanted():
        yield np.array([0])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(Feed(uniform[0], CPU).batches(wanted()))
    assert threads() == []


def test_the_thread_ends_when_the_caller_stops(uniform):
    batches = Feed(uniform[0], CPU).batches(np.array([number % 9]) for number in range(10**9))
    next(batches)
    assert len(threads()) == 1
    del batches
    assert threads() == []


@GPU
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_gpu_gets_the_same_batches_resident_or_not(uniform, mixed, monkeypatch, share):
    monkeypatch.setattr("dmlbench.data.feed.RESIDENT", share)
    wanted = ids([3, 1], [8], [1, 1, 0, 2])
    for store, _ in (uniform, mixed):
        on_gpu = Feed(store, torch.device("cuda")).batches(wanted)
        for here, there in zip(Feed(store, CPU).batches(wanted), on_gpu, strict=True):
            assert there.device.type == "cuda"
            pairs = zip(here, there, strict=True)
            assert all(torch.equal(image, copy.cpu()) for image, copy in pairs)


def test_no_flipped_bit_of_a_pixel_is_read(tmp_path):
    for number, sizes in enumerate([[(4, 4)] * 3, [(4, 4), (3, 5), (6, 2)]]):
        store, _ = write_store(tmp_path / str(number), sizes)
        store.batch([0, 1, 2])
        good = store.path.read_bytes()
        for place in range(128, len(good), 7):
            flipped = bytearray(good)
            flipped[place] ^= 1 << place % 8
            store.path.write_bytes(flipped)
            again = Pixels(store.path, store.path.with_suffix(".parquet"))
            with pytest.raises(DamagedError, match=r"npy: damaged .* differ from their checksum"):
                again.batch([0, 1, 2])
        store.path.write_bytes(good)
