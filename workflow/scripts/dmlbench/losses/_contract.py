"""What every loss accepts, checked in one place and once per call."""

import functools
import inspect
from typing import get_args

import torch
from torch import Tensor, nn

from dmlbench.errors import UserError
from dmlbench.tensors import HALF, check_embeddings, checked_labels, outside_autocast
from dmlbench.tuples import Pairs, Triplets


class Contract:
    """Embeddings and labels that a loss can be computed on, or an error.

    - Embeddings are [B, D], floating, dense, with B and D of at least 1; D is the loss's
      embedding_dim if it has one. Half precision is widened to float32. A loss with parameters has
      its own device, and one with proxies its own precision, float32 unless changed by
      `loss.double()`; the others compute in that of the embeddings.
    - Autocast has no effect on a loss, nor on its gradient, whose type is the embeddings'.
    - Tuples are of the kind that the loss takes.
    - Labels are [B], of any integer type, on the embeddings' device; in [0, C) if the loss has
      classes. Lists and NumPy arrays are moved there.
    - A row that is not finite makes the loss NaN.

    Labels on a CPU are checked. Checking them on a GPU would make the host wait for it, and would
    break a compiled graph: there, a label that is not a class makes the row of its embedding NaN
    and so the loss, at which training stops.

    Args:
        num_classes: number of classes C; None for a loss without classes.
        embedding_dim: size D of the embeddings; None for a loss that takes any.
    """

    def __init__(self, num_classes: int | None, embedding_dim: int | None):
        self.num_classes, self.embedding_dim = num_classes, embedding_dim

    def bind(self, loss: nn.Module) -> None:
        """Keep this loss to the contract: its forward becomes this one's `__call__`."""
        declared = inspect.signature(type(loss).forward).parameters.get("tuples")
        self.tuples = get_args(declared.annotation) if declared else ()
        self.parameter = next((name for name, _ in loss.named_parameters(recurse=False)), None)
        loss.forward = functools.partial(self.__call__, loss)

    def __call__(self, loss: nn.Module, embeddings: Tensor, labels, tuples=None) -> Tensor:
        """The loss (scalar) of a batch.

        Raises:
            UserError: the batch violates the contract.
        """
        check_embeddings(embeddings)
        labels = checked_labels(labels, embeddings)
        if self.parameter is not None:
            self._check_parameters(getattr(loss, self.parameter), embeddings)
        if self.num_classes is not None:
            embeddings, labels = self._check_classes(embeddings, labels)
        self._check_tuples(tuples)
        with outside_autocast(embeddings):
            rest = () if tuples is None else (tuples,)
            value = type(loss).forward(loss, embeddings, labels, *rest)
            # 0, or NaN where an entry (or their sum) is not finite, without waiting for a device
            total = embeddings.detach().sum(dtype=_computed_in(embeddings))
            return torch.add(value, total, alpha=0)

    def _check_parameters(self, own: Tensor, embeddings: Tensor) -> None:
        if own.device != embeddings.device:
            raise UserError(
                f"embeddings: on {embeddings.device}; allowed: {own.device}, as the loss is "
                "(loss.to(device) moves it)"
            )
        if self.embedding_dim is None:
            return
        if embeddings.shape[1] != self.embedding_dim:
            raise UserError(
                f"embeddings: {embeddings.shape[1]} dimensions; allowed: {self.embedding_dim}, the "
                "loss's embedding_dim"
            )
        if _computed_in(embeddings) != _computed_in(own):
            raise UserError(
                f"embeddings: {embeddings.dtype}; allowed: {_computed_in(own)} or what widens to "
                "it, as the loss's proxies are (loss.double() moves them to float64)"
            )

    def _check_classes(self, embeddings: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        if labels.is_cpu and not torch.compiler.is_compiling():
            least, largest = (int(bound) for bound in labels.aminmax())
            if least < 0 or largest >= self.num_classes:
                wrong = least if least < 0 else largest
                raise UserError(f"labels: {wrong}; allowed: from 0 to {self.num_classes - 1}")
            return embeddings, labels
        named = labels.clamp(0, self.num_classes - 1)
        return embeddings + torch.where(named == labels, 0.0, torch.nan)[:, None], named

    def _check_tuples(self, tuples: Pairs | Triplets | None) -> None:
        # Pairs and Triplets unpack alike, so that the wrong ones would give a wrong loss
        if isinstance(tuples, (Pairs, Triplets)) and type(tuples) not in self.tuples:
            names = [kind.__name__ for kind in self.tuples if kind in (Pairs, Triplets)]
            raise UserError(
                f"tuples: {type(tuples).__name__}; allowed: {', '.join(names) or 'none'}"
            )


def _computed_in(x: Tensor) -> torch.dtype:
    return torch.float32 if x.dtype in HALF else x.dtype
