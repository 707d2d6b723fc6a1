"""Random exchanges of positives and negatives, without a loop over tuples."""

import torch
from torch import Tensor

from dmlbench.miners._draw import draw_columns
from dmlbench.tuples import Pairs, Triplets


def switch(triplets: Triplets, new_positive: Tensor, probability: float) -> Triplets:
    """Turn triplets (a, p, n), each with this probability, into (a, new positive, p).

    Of switched triplets of an anchor that would share a new positive, only the one with the
    largest p is switched: the number of triplets stays.

    Args:
        triplets: negative n for anchor i and positive j.
        new_positive: int64 [B, B], for anchor i and positive j; outside the anchor's positives.
    """
    negative, valid = triplets
    column = torch.arange(len(valid), device=valid.device).expand_as(negative)
    switched = valid & (torch.rand(valid.shape, device=valid.device) < probability)
    claims = torch.where(switched, column, -1)
    winner = torch.full_like(negative, -1).scatter_reduce(1, new_positive, claims, "amax")
    switched = switched & (winner.gather(1, new_positive) == column)
    return Triplets(
        negative=torch.where(winner >= 0, winner, negative),
        valid=(valid & ~switched) | (winner >= 0),
    )


def partners(pairs: Pairs) -> Triplets:
    """Each positive pair with a random one of its anchor's negative pairs, as triplets."""
    valid = pairs.positive & pairs.negative.any(dim=1, keepdim=True)
    return Triplets(negative=draw_columns(pairs.negative, valid), valid=valid)
