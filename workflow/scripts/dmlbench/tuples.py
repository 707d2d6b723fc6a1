"""Pairs and triplets of a batch, as dense masks: no host synchronization, no B x B x B tensor."""

from typing import NamedTuple

from torch import Tensor


class Pairs(NamedTuple):
    """Pairs (i, j) of a batch that a pair loss uses.

    Attributes:
        positive: bool [B, B]; True where j is a positive of anchor i.
        negative: bool [B, B]; True where j is a negative of anchor i.
    """

    positive: Tensor
    negative: Tensor


class Triplets(NamedTuple):
    """One negative for each chosen (anchor, positive) pair of a batch.

    Attributes:
        negative: int64 [B, B]; the index of the negative that goes with anchor i and positive j.
            Entries outside `valid` are arbitrary.
        valid: bool [B, B]; True where (i, j, negative[i, j]) is a triplet.
    """

    negative: Tensor
    valid: Tensor


def all_pairs(labels: Tensor) -> Pairs:
    """Every positive pair (same label, another image) and every negative pair of a batch [B]."""
    same = labels[:, None] == labels[None, :]
    return Pairs(positive=same.clone().fill_diagonal_(False), negative=~same)
