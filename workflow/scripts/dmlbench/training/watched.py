"""The watched images of a training: scored after an epoch, their embeddings kept for its end."""

from collections.abc import Mapping

from dmlbench.data.embeddings import Embedded
from dmlbench.data.feed import Feed
from dmlbench.evaluation import score
from dmlbench.evaluation.roles import spaces
from dmlbench.networks.embedder import Embedder
from dmlbench.plan.specs.spec import Spec
from dmlbench.training.data import Images
from dmlbench.training.export import embed_roles
from dmlbench.training.selection import Selection


class WatchedImages:
    """Scores the current network by the spec's metrics, the one that selects first.

    Args:
        spec: the run's.
        network: the one in training.
        feed: the packed images.
        roles: the watched images.
        selection: says which epoch is selected so far.

    Attributes:
        embedded: epoch -> role -> embedded images, of the epoch scored last and of the one that was
            selected before it. Checkpoints do not store them.
    """

    def __init__(
        self,
        spec: Spec,
        network: Embedder,
        feed: Feed,
        roles: Mapping[str, Images],
        selection: Selection,
    ):
        self.spec, self.network, self.feed = spec, network, feed
        self.roles, self.selection = roles, selection
        self.embedded: dict[int, dict[str, Embedded]] = {}

    def __call__(self, epoch: int) -> dict[str, float]:
        """The metrics' names and values after an epoch."""
        now = embed_roles(self.spec, self.network, self.feed, self.roles)
        selected = self.selection.epoch
        self.embedded = {key: kept for key, kept in self.embedded.items() if key == selected}
        self.embedded[epoch] = now
        (space,) = spaces(now).values()
        metrics = dict.fromkeys([self.spec.selection_metric, *self.spec.epoch_metrics])
        return score(
            **space,
            metrics=list(metrics),
            distance=self.spec.evaluation_distance,
            device=self.feed.device,
        )
