"""What is minimized: a loss with its miner and regularizers."""

import contextlib
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from dmlbench.distributed import gather
from dmlbench.errors import UserError
from dmlbench.samplers import Batch
from dmlbench.training.representatives import Restrict


class Objective:
    """The loss of a batch.

    A regularizer that acts on weights pulls them toward a proximal reference. This is the weights
    at the beginning of the batch's projection, or of the training epoch if the sampler has no
    projections. If each iteration is a subproblem (SoftTriple, can2019, section 5.3), it is the
    weights at the beginning of the previous iteration, "to entangle the updates of the iterations":
    at the beginning of the same iteration the penalty would have no gradient.

    Args:
        network: the network that regularizers change or penalize.
        loss: takes embeddings [B, D], labels [B] and, with a miner, tuples; holds its own
            parameters. An empty module if there is nothing to minimize.
        miner: chooses the tuples of the loss; None for all.
        regularizers: by name.
        restrict: the tuples of the loss if a batch has representatives
            (`dmlbench.training.representatives`); None for the unchanged batch.
        each_iteration: whether each iteration is a subproblem.
        embed: the compiled network; None for the network itself.
    """

    def __init__(
        self,
        network: nn.Module,
        loss: nn.Module,
        *,
        miner: Callable | None = None,
        regularizers: Mapping[str, Callable] | None = None,
        restrict: Restrict | None = None,
        each_iteration: bool = False,
        embed: Callable[[Tensor], Tensor] | None = None,
    ):
        self.network, self.loss, self.miner = network, loss, miner
        self.regularizers = dict(regularizers or {})
        self.restrict, self.each_iteration = restrict, each_iteration
        self.embed = network if embed is None else embed
        self.subproblem: int | None = None

    def begin(self, subproblem: int) -> None:
        """Take the weights as the proximal reference unless the subproblem is unchanged.

        Args:
            subproblem: the number of the projection, or of the epoch without projections.
        """
        if self.subproblem is None or (self.subproblem != subproblem and not self.each_iteration):
            self._snapshot()
        self.subproblem = subproblem

    def __call__(self, batch: Batch, inputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Loss (scalar) and embeddings [B, D] of inputs [B, ...] with labels [B].

        Of several processes, each has its share of the inputs, and all have the labels.

        Raises:
            UserError: the loss is not a scalar, or not a function of the embeddings.
        """
        with contextlib.ExitStack() as mixing:
            mixtures = [
                mixing.enter_context(regularizer.mixing(self.network.stages, len(inputs)))
                for regularizer in self._acting_on("network")
            ]
            embeddings = gather(self.embed(inputs))
        if mixtures:
            loss = mixtures[0].loss(self._loss, embeddings, labels)
        else:
            loss = self._loss(embeddings, labels, _mask(batch, labels.device))
        for regularizer in self._acting_on("embeddings"):
            loss = loss + regularizer(embeddings)
        for regularizer in self._acting_on("weights"):
            loss = loss + regularizer(self.network.parameters())
        if embeddings.requires_grad and not loss.requires_grad:
            raise UserError(
                f"loss {type(self.loss).__name__}: has no gradient; allowed: a tensor that is "
                "computed from the embeddings, without detach(), item() or no_grad()"
            )
        if self.each_iteration:
            self._snapshot()
        return loss, embeddings

    def state_dict(self) -> dict:
        """Its state for a checkpoint."""
        return {
            "loss": self.loss.state_dict(),
            "references": {
                name: part.state_dict()
                for name, part in self.regularizers.items()
                if part.acts_on == "weights"
            },
            "subproblem": self.subproblem,
        }

    def load_state_dict(self, state: dict) -> None:
        """Continue from a checkpoint."""
        self.loss.load_state_dict(state["loss"])
        for name, reference in state["references"].items():
            self.regularizers[name].load_state_dict(reference)
        self.subproblem = state["subproblem"]

    def _loss(
        self, embeddings: Tensor, labels: Tensor, representative: Tensor | None = None
    ) -> Tensor:
        tuples = self.miner and self.miner(embeddings.detach(), labels)
        if representative is not None and self.restrict is not None:
            tuples = self.restrict(tuples, labels, representative)
        for regularizer in self._acting_on("tuples"):
            tuples = regularizer(tuples)
        loss = self.loss(embeddings, labels, *([] if tuples is None else [tuples]))
        if not isinstance(loss, Tensor) or loss.ndim:
            returned = f"shape {list(loss.shape)}" if isinstance(loss, Tensor) else f"{loss!r}"
            raise UserError(
                f"loss {type(self.loss).__name__}: returns {returned}; allowed: a tensor with one "
                "number and no dimensions, such as a mean"
            )
        return loss

    def _snapshot(self) -> None:
        for regularizer in self._acting_on("weights"):
            regularizer.snapshot(self.network.parameters())

    def _acting_on(self, what: str) -> list:
        return [part for part in self.regularizers.values() if part.acts_on == what]


def _mask(batch: Batch, device: torch.device) -> Tensor | None:
    """Which examples of a batch are representatives: bool [B]; None without representatives."""
    if batch.representatives is None:
        return None
    mask = torch.zeros(len(batch.rows), dtype=torch.bool)
    mask[torch.from_numpy(batch.representatives)] = True
    return mask.to(device, non_blocking=True)
