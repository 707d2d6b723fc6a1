"""Weights and features that are copied without a record: no flipped bit changes what is read."""

import random

import torch
from dmlbench.errors import DamagedError
from dmlbench.tensor_files import read_tensors, write_tensors
from safetensors.torch import load_file, save_file

TENSORS = {
    "weight": torch.arange(30, dtype=torch.float32).reshape(5, 6),
    "half": torch.ones(3, dtype=torch.bfloat16),
    "count": torch.tensor(7),
    "none": torch.zeros(0, 2),
}


def same(some, others):
    return some.keys() == others.keys() and all(torch.equal(some[k], others[k]) for k in some)


def test_every_reader_of_safetensors_gets_the_tensors(tmp_path):
    path = tmp_path / "model.safetensors"
    write_tensors(path, TENSORS, {"epoch": 3})
    assert same(read_tensors(path), TENSORS)
    assert same(load_file(path), TENSORS)


def test_no_flipped_bit_changes_what_is_read(tmp_path):
    path = tmp_path / "model.safetensors"
    write_tensors(path, TENSORS, {"epoch": 3})
    good, noticed = path.read_bytes(), 0
    places = range(8 * len(good))
    for bit in random.Random(0).sample(places, 600):
        flipped = bytearray(good)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        try:
            # What is left unnoticed is in the facts.
            assert same(read_tensors(path), TENSORS)
        except DamagedError as error:
            noticed += error.path == path
    assert noticed > 400


def test_a_file_without_a_digest_is_read(tmp_path):
    save_file(TENSORS, tmp_path / "old.safetensors")
    assert same(read_tensors(tmp_path / "old.safetensors"), TENSORS)
