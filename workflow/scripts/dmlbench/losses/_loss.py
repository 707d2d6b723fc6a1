"""Losses whose options are their fields."""

from dataclasses import field

from torch import Tensor, nn

from dmlbench.losses._all_triplets import mean_over_triplets
from dmlbench.losses._geometry import euclidean_distances
from dmlbench.losses._proxies import new_proxies
from dmlbench.tuples import Triplets
from dmlbench.values import Part


class Loss(Part, nn.Module):
    """A module whose options are its fields (`dmlbench.values.Part`)."""

    def __new__(cls, *facts, **options):
        loss = super().__new__(cls)
        # A dataclass does not call it.
        nn.Module.__init__(loss)
        return loss


class LossOfDistances(Loss):
    """A loss of the distances in a triplet, `triplet_loss(ap, an, pn)`, elementwise."""

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Triplets | None = None) -> Tensor:
        """Mean over all valid triplets of embeddings [B, D], or over `tuples`."""
        d = euclidean_distances(embeddings)
        return mean_over_triplets(self.triplet_loss, d, labels, tuples)


class LossWithProxies(Loss):
    """A loss with a learned vector for each class.

    Attributes:
        num_classes, embedding_dim: facts of the data: no options.
        proxies: [C, D].
    """

    num_classes: int = field(kw_only=False)
    embedding_dim: int = field(kw_only=False)

    def __post_init__(self):
        self.proxies = new_proxies(self.num_classes, self.embedding_dim)
