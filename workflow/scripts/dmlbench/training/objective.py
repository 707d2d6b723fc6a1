"""What is minimised: a method's loss with its miner and regularizers."""

import contextlib
from collections.abc import Callable

from torch import Tensor, nn

from dmlbench.losses import build_loss
from dmlbench.miners import build_miner
from dmlbench.networks.embedder import Embedder
from dmlbench.plan.spec import Spec
from dmlbench.regularizers import build_regularizer


class Objective:
    """The loss of a batch under a spec.

    Args:
        spec: says which loss, miner and regularizers; without a loss there is nothing to minimise.
        network: what the regularizers reach into.
        num_classes: of the training images.

    Attributes:
        loss: holds the loss's own parameters.
    """

    def __init__(self, spec: Spec, network: Embedder, num_classes: int):
        self.network = network
        self.loss = nn.Module()
        if spec.loss is not None:
            context = {"num_classes": num_classes, "embedding_dim": spec.embedding_dim}
            self.loss = build_loss(spec.loss.name, **context, **spec.loss.hyperparameters)
        self.miner = spec.miner and build_miner(spec.miner.name, **spec.miner.hyperparameters)
        self.regularizers = {
            part.name: build_regularizer(part.name, **part.hyperparameters)
            for part in spec.regularizers
        }

    def start_epoch(self) -> None:
        """Take the weights that are to be stayed near to."""
        for regularizer in self._acting_on("weights"):
            regularizer.snapshot(self.network.parameters())

    def __call__(
        self, embed: Callable[[Tensor], Tensor], images: Tensor, labels: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Loss (scalar) and embeddings [B, D] of images [B, C, H, W] with labels [B].

        Args:
            embed: the network, as it is or compiled.
        """
        with contextlib.ExitStack() as mixing:
            mixtures = [
                mixing.enter_context(regularizer.mixing(self.network.stages, len(images)))
                for regularizer in self._acting_on("network")
            ]
            embeddings = embed(images)
        if mixtures:
            loss = mixtures[0].loss(self._loss, embeddings, labels)
        else:
            loss = self._loss(embeddings, labels)
        for regularizer in self._acting_on("embeddings"):
            loss = loss + regularizer(embeddings)
        for regularizer in self._acting_on("weights"):
            loss = loss + regularizer(self.network.parameters())
        return loss, embeddings

    def state_dict(self) -> dict:
        """What a checkpoint keeps of it."""
        weights = {
            name: regularizer.state_dict()
            for name, regularizer in self.regularizers.items()
            if hasattr(regularizer, "state_dict")
        }
        return {"loss": self.loss.state_dict(), "regularizers": weights}

    def load_state_dict(self, state: dict) -> None:
        """Continue from a checkpoint."""
        self.loss.load_state_dict(state["loss"])
        for name, kept in state["regularizers"].items():
            self.regularizers[name].load_state_dict(kept)

    def _loss(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        if self.miner is None:
            return self.loss(embeddings, labels)
        tuples = self.miner(embeddings.detach(), labels)
        for regularizer in self._acting_on("tuples"):
            tuples = regularizer(tuples)
        return self.loss(embeddings, labels, tuples)

    def _acting_on(self, what: str) -> list:
        return [part for part in self.regularizers.values() if part.acts_on == what]
