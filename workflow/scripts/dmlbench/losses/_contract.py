"""What every loss accepts, checked in one place and once per call."""

import torch
from torch import Tensor, nn

from dmlbench.errors import UserError
from dmlbench.losses._geometry import HALF


class Contract:
    """Embeddings and labels that a loss can be computed on, or an error.

    - Embeddings are [B, D], floating, with B and D of at least 1; D is the loss's embedding_dim
      if it has one. Half precision is widened to float32. A loss with proxies has its own
      precision, float32 unless changed by `loss.double()`; the others compute in that of the
      embeddings.
    - Labels are [B], of any integer type, on the embeddings' device; in [0, C) if the loss has
      classes.
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
        """Keep this loss to the contract, by hooks that run before and after its forward."""
        loss.register_forward_pre_hook(self._before, with_kwargs=True)
        loss.register_forward_hook(self._after)

    def _before(self, loss: nn.Module, arguments: tuple, named: dict) -> tuple[tuple, dict]:
        return self._checked(loss, *arguments, **named), {}

    def _after(self, loss: nn.Module, arguments: tuple, value: Tensor) -> Tensor:
        # 0, or NaN where an entry (or their sum) is not finite, without waiting for a device
        embeddings = arguments[0].detach()
        return value + 0 * embeddings.sum(dtype=_computed_in(embeddings))

    def _checked(self, loss: nn.Module, embeddings: Tensor, labels: Tensor, tuples=None) -> tuple:
        """The arguments of the loss's forward, labels as int64."""
        self._check_embeddings(loss, embeddings)
        _check_labels(labels, embeddings)
        labels = labels.long()
        if self.num_classes is not None:
            embeddings, labels = self._check_classes(embeddings, labels)
        return (embeddings, labels) if tuples is None else (embeddings, labels, tuples)

    def _check_embeddings(self, loss: nn.Module, embeddings: Tensor) -> None:
        if embeddings.dim() != 2 or 0 in embeddings.shape:
            raise UserError(
                f"embeddings: shape {tuple(embeddings.shape)}; allowed: [B, D] with B, D > 0"
            )
        if not embeddings.is_floating_point():
            raise UserError(f"embeddings: {embeddings.dtype}; allowed: floating-point numbers")
        if self.embedding_dim is None:
            return
        if embeddings.shape[1] != self.embedding_dim:
            raise UserError(
                f"embeddings: {embeddings.shape[1]} dimensions; allowed: {self.embedding_dim}, the "
                "loss's embedding_dim"
            )
        own = next(loss.parameters())
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


def _check_labels(labels: Tensor, embeddings: Tensor) -> None:
    if labels.shape != embeddings.shape[:1]:
        raise UserError(
            f"labels: shape {tuple(labels.shape)}; allowed: ({len(embeddings)},), one per embedding"
        )
    if labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool:
        raise UserError(f"labels: {labels.dtype}; allowed: integers")
    if labels.device != embeddings.device:
        raise UserError(
            f"labels: on {labels.device}; allowed: {embeddings.device}, as the embeddings are"
        )


def _computed_in(x: Tensor) -> torch.dtype:
    return torch.float32 if x.dtype in HALF else x.dtype
