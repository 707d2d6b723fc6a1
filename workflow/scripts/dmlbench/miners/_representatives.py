"""Tuples around class representatives, as PROFS forms them (can2019, section 5.3)."""

from torch import Tensor

from dmlbench.tuples import Pairs, Triplets


def anchored(tuples: Pairs | Triplets, representative: Tensor) -> Pairs | Triplets:
    """The tuples whose anchor is a representative: contrastive, triplet and margin loss.

    Args:
        representative: bool [B], True where the batch holds a representative.
    """
    rows = representative[:, None]
    if isinstance(tuples, Pairs):
        return Pairs(positive=tuples.positive & rows, negative=tuples.negative & rows)
    return tuples._replace(valid=tuples.valid & rows)


def touching(pairs: Pairs, representative: Tensor) -> Pairs:
    """The pairs without those of two non-representatives: lifted structure and MultiSimilarity.

    Args:
        representative: bool [B], True where the batch holds a representative.
    """
    either = representative[:, None] | representative[None, :]
    return Pairs(positive=pairs.positive & either, negative=pairs.negative & either)
