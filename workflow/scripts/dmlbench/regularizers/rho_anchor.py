"""Rho-regularization as in the authors' code: the anchor takes the positive's place."""

import torch

from dmlbench.regularizers._switch import partners, switch
from dmlbench.tuples import Pairs, Triplets
from dmlbench.values import Part, Share


class RhoAnchor(Part):
    """With probability p_switch a triplet (a, p, n) becomes (a, a, p): nothing pulls, p is pushed.

    The behavior of the public code of roth2020, which made the printed numbers; the text's is
    `rho`. A positive pair (a, p) becomes negative, and a random negative pair of the same anchor
    is dropped. At most one tuple of an anchor is switched. Draws come from torch's global
    generator of the tuples' device.

    Args:
        p_switch: probability in [0, 1], as in `rho`.
    """

    acts_on = "tuples"

    p_switch: Share = 0.35

    def __call__(self, tuples: Pairs | Triplets) -> Pairs | Triplets:
        """The tuples of a batch with some switched."""
        before = partners(tuples) if isinstance(tuples, Pairs) else tuples
        anchor = torch.arange(len(before.valid), device=before.valid.device)
        after = switch(before, anchor[:, None].expand_as(before.negative), self.p_switch)
        if isinstance(tuples, Triplets):
            return after
        gone = before.valid & ~after.valid
        dropped = torch.zeros_like(gone, dtype=torch.uint8)
        dropped = dropped.scatter_reduce(1, before.negative, gone.to(torch.uint8), "amax").bool()
        return Pairs(positive=tuples.positive & ~gone, negative=(tuples.negative & ~dropped) | gone)
