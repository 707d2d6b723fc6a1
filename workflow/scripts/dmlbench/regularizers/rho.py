"""Rho-regularization: at random, a negative and a positive are exchanged."""

from dmlbench.regularizers._switch import partners, switch
from dmlbench.tuples import Pairs, Triplets
from dmlbench.values import Part, Share


class Rho(Part):
    """With probability p_switch a tuple's positive and negative are exchanged.

    (a, p, n) becomes (a, n, p); a positive pair (a, p) becomes negative, and a random negative pair
    of the same anchor becomes positive instead. That pushes images of a class apart and slows the
    decay of the embeddings' singular values: roth2020, section 5.1. The authors' public code does
    `rho_anchor`.

    Of several exchanges that give an anchor the same new positive, only one is made. If anchors
    have several positives, the rate is therefore below p_switch, the more so the more tuples of an
    anchor share their negative: k tuples that all share it are exchanged at a rate of
    (1 - (1 - p_switch)^k) / k. That is the case of the miner `semi_hard` where an anchor's nearest
    negative is farther than its positives: 0.205 for 0.35 with five images per class. With one
    positive per anchor (SPC-2, or miners with `positives: one`) the rate is p_switch. Draws come
    from torch's global generator of the tuples' device.

    Args:
        p_switch: probability in [0, 1]. Not printed for tables 4-6; the authors' public runs used
            0.3-0.4 (CUB), 0.35 (Cars) and 0.15 (SOP).
    """

    acts_on = "tuples"

    p_switch: Share = 0.35

    def __call__(self, tuples: Pairs | Triplets) -> Pairs | Triplets:
        """The tuples of a batch with some exchanged; their number stays the same."""
        if isinstance(tuples, Triplets):
            return switch(tuples, tuples.negative, self.p_switch)
        before = partners(tuples)
        after = switch(before, before.negative, self.p_switch)
        gone, new = before.valid & ~after.valid, after.valid & ~before.valid
        return Pairs(
            positive=(tuples.positive & ~gone) | new,
            negative=(tuples.negative & ~new) | gone,
        )
