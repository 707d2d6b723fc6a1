"""Cross-batch memory: any loss over pairs or triplets, compared with earlier batches as well."""

import inspect
from collections.abc import Callable
from typing import get_args

import torch
from torch import Tensor, nn

from dmlbench.errors import UserError, check_count
from dmlbench.losses._geometry import widened
from dmlbench.miners._representatives import anchored
from dmlbench.tensors import check_embeddings, checked_labels
from dmlbench.tuples import Pairs, Triplets, all_pairs


class CrossBatchMemory(nn.Module):
    """A loss whose anchors x_i of a batch are compared with the batch and with a memory m.

        L = 1/B sum_i l(x_i; {x_j : j != i} and {m_k}),  m = the embeddings of earlier batches

    for a loss that is a mean over anchors; a mean over pairs, positives or triplets is that over
    the tuples whose anchor is in the batch. The memory is a queue of the latest embeddings as they
    were when their batch was trained, without gradient; a batch joins it after its loss.

    Source: Wang et al. 2020 (XBM), algorithm 1, where the batch joins first, so that an anchor is
    compared with a copy of itself, and the others of its batch have no gradient from it.

    Terms of a loss over all embeddings, not tuples, such as their length, count the memory's as
    well. Time and memory grow as (B + size)^2.

    Args:
        loss: takes embeddings, labels and tuples.
        size: embeddings in the memory; at first there are fewer.
        miner: chooses tuples of batch and memory; None for all pairs. A loss over triplets needs
            one.
        start: number of first batches that neither use the memory nor join it: embeddings of the
            first iterations are soon out of date.

    Raises:
        UserError: a loss without tuples, or over triplets without a miner; a size below 1, a start
            below 0.
    """

    def __init__(
        self, loss: nn.Module, *, size: int, miner: Callable | None = None, start: int = 0
    ):
        super().__init__()
        check_count("size", size, least=1)
        check_count("start", start, least=0)
        declared = inspect.signature(type(loss).forward).parameters.get("tuples")
        kinds = get_args(declared.annotation) if declared else ()
        if Pairs not in kinds and (Triplets not in kinds or miner is None):
            raise UserError(
                f"cross-batch memory: loss {type(loss).__name__}; allowed: a loss over pairs, or "
                "over triplets with a miner"
            )
        self.loss, self.miner, self.size, self.start = loss, miner, size, start
        self.iteration = 0
        self.embeddings: Tensor | None = None
        self.labels: Tensor | None = None

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B]; in training mode they are kept."""
        check_embeddings(embeddings)
        labels = checked_labels(labels, embeddings)
        x, y = embeddings, labels
        if self.embeddings is not None:
            x = torch.cat([x, self.embeddings.to(x.device)])
            y = torch.cat([y, self.labels.to(y.device)])
        tuples = all_pairs(y) if self.miner is None else self.miner(x, y)
        in_batch = torch.arange(len(y), device=y.device) < len(labels)
        value = self.loss(x, y, anchored(tuples, in_batch))
        if getattr(self.loss, "mean_over_anchors", False):
            value = value * (len(y) / len(labels))
        if self.training:
            self.iteration += 1
            if self.iteration > self.start:
                self._enqueue(widened(embeddings.detach()), labels)
        return value

    def _enqueue(self, embeddings: Tensor, labels: Tensor) -> None:
        """Add a batch behind the earlier ones, and drop the oldest beyond the size."""
        if self.embeddings is not None:
            embeddings = torch.cat([self.embeddings.to(embeddings.device), embeddings])
            labels = torch.cat([self.labels.to(labels.device), labels])
        self.embeddings = embeddings[-self.size :].clone()
        self.labels = labels[-self.size :].clone()

    def get_extra_state(self) -> dict:
        """What `state_dict` adds to the loss's parameters: the queue, the oldest first."""
        return {key: getattr(self, key) for key in ("iteration", "embeddings", "labels")}

    def set_extra_state(self, state: dict) -> None:
        """Continue with a queue."""
        for key, value in state.items():
            setattr(self, key, value)
