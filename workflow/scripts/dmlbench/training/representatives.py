"""How each loss takes a batch with class representatives: can2019, section 5.3.

A representative is paired with the examples of its class and with the negatives of the batch, the
other classes' representatives among them (equation 4.2 compares it with every sample).

- Most losses (contrastive, triplet, margin, N-pair, angular): the tuples whose anchor is a
  representative. "Each class representative should have the same number of its corresponding
  positive pairs and hard negative pairs": that is what the miners `hard_pairs`, `hard` and
  `semi_hard` give an anchor. The text says that N-pair and angular loss need no adaptation,
  "since their formulation is consistent with PROFS": the anchor of a class is its representative.
  If a loss is a mean over all images of the batch, those that are not anchors count as zeros.
- Lifted structure and MultiSimilarity: "ignoring the pairwise terms between the non-representative
  samples"; pairs of a representative and an example count from both sides. A miner first uses the
  whole batch (the text is silent).
- SoftTriple: the unchanged batch. "We consider each iteration as a subproblem": see `Objective`.
  Its gain "comes from the regularization purely" (section 5.5), so it keeps its own sampler and
  PROFS only adds the proximity term; class mining needs `profs_hncm`, which uses its centers.
- Other losses without tuples: also the unchanged batch. `n_pair_one_per_class` takes a class's
  first image as anchor, which is its representative. The text does not adapt losses with proxies.
"""

from collections.abc import Callable

from torch import Tensor, nn

from dmlbench import registry
from dmlbench.errors import UserError
from dmlbench.miners._representatives import anchored, touching
from dmlbench.tuples import Pairs, Triplets, all_pairs

Tuples = Pairs | Triplets | None
Restrict = Callable[[Tuples, Tensor, Tensor], Tuples]

FROM_BOTH_SIDES = (
    "generalized_lifted",
    "lifted_structure",
    "lifted_structure_euclidean",
    "lifted_structure_per_anchor",
    "multi_similarity",
)
EACH_ITERATION = ("soft_triple",)
"""Losses for which each iteration is a subproblem."""


def restriction(loss: str, is_mined: bool) -> Restrict:
    """The tuples that a loss uses if a batch has representatives.

    Args:
        loss: its name.
        is_mined: whether a miner chooses tuples first.

    Returns:
        A callable: the miner's tuples (or None), labels [B] and a mask of the representatives,
        bool [B], to the tuples of the loss (None for a loss without tuples).

    Raises:
        UserError: a loss over triplets has no miner.
    """
    taken = registry.annotation("losses", loss, "forward", "tuples")
    if taken is None:
        return lambda tuples, labels, representative: None
    if not is_mined and "Pairs" not in taken:
        raise UserError(
            f"loss {loss}: over all triplets it cannot be limited to representatives; allowed: "
            "with a miner of triplets, such as semi_hard or hard"
        )
    keep = touching if loss in FROM_BOTH_SIDES else anchored
    return lambda tuples, labels, representative: keep(tuples or all_pairs(labels), representative)


def class_centers(loss: nn.Module) -> Tensor:
    """SoftTriple's position of each class: [C, D], the mean of its unit centers.

    A class has several centers and is mined as one; the text leaves open how. With the mean, mining
    takes one distance per class, O(L) as stated.
    """
    return nn.functional.normalize(loss.centers.detach(), dim=-1).mean(dim=0)
