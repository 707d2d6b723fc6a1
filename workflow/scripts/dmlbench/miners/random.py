"""Random mining: triplets drawn uniformly, one for each anchor or as many of all of a batch."""

from typing import Annotated, Literal

import torch
from torch import Tensor

from dmlbench.miners._draw import choose_positives, draw_columns
from dmlbench.tuples import Triplets, all_pairs
from dmlbench.values import Added, Part


class Random(Part):
    """Each anchor gets positives and negatives drawn uniformly: roth2020, appendix A.2.

    An anchor without a positive or without a negative gives no triplet. Draws come from torch's
    global generator of the embeddings' device.

    Args:
        positives: "one" positive of each anchor, drawn at random (roth2020), or "all", each with
            a negative of its own.
        of: "anchor" as said, or "batch": as many triplets as there are images, each triplet of the
            batch equally likely, so that anchors of larger classes have more; `positives` then has
            no effect. So does the public code of roth2020, which may draw a pair (a, p) again with
            another negative; here none is drawn twice.
    """

    positives: Literal["all", "one"] = "one"
    of: Annotated[Literal["anchor", "batch"], Added()] = "anchor"

    def __call__(self, embeddings: Tensor, labels: Tensor) -> Triplets:
        """Embeddings [B, D] and labels [B] to one negative for each chosen positive pair."""
        positive, negative = all_pairs(labels)
        if self.of == "batch":
            valid = _pairs_of_triplets(positive, negative)
        else:
            valid = choose_positives(positive, self.positives) & negative.any(1, keepdim=True)
        return Triplets(negative=draw_columns(negative, valid), valid=valid)


def _pairs_of_triplets(positive: Tensor, negative: Tensor) -> Tensor:
    """B of the positive pairs [B, B], each as likely as it has negatives; all if there are fewer.

    Systematic sampling: B equal steps, from a random start, through the pairs' negatives, which are
    laid end to end in random order. No pair is longer than a step if there are B pairs of
    classes of about the same size; a longer one is always drawn.
    """
    size = len(positive)
    order = torch.rand(positive.numel(), device=positive.device).argsort()
    ends = (positive * negative.sum(1, keepdim=True)).flatten()[order].cumsum(0)
    uniform = torch.rand((), dtype=torch.float64, device=positive.device)
    steps = (torch.arange(size, device=positive.device) + uniform) * ends[-1] / size
    drawn = torch.searchsorted(ends, steps.long().clamp(max=ends[-1] - 1), right=True)
    chosen = torch.zeros_like(order, dtype=torch.bool)
    chosen[order[drawn.clamp(max=len(order) - 1)]] = True
    return positive & chosen.view_as(positive)
