"""SoftTriple loss with its center-merging regularizer."""

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from dmlbench.losses._geometry import products, through_softmax, unit
from dmlbench.losses._proxies import new_proxies
from dmlbench.losses._step import Step, added
from dmlbench.values import Count, NotNegative, Positive


class SoftTriple(nn.Module):
    """Cross-entropy of alpha S_ic, less alpha margin for the own class, plus the regularizer.

    S_ic is the mean similarity of embedding i to the K centers of class c, weighted by their
    softmax at inverse temperature gamma. The regularizer is tau times the sum of
    |w_cs - w_ct| over the pairs s < t of a class's centers, divided by C K (K - 1).
    Source: psomas2020 eq. 2.30 (a sum over the batch there, the mean here); S and the
    regularizer from Qian et al. 2019 eq. 9 and 11, and its public code. roth2020 eq. 18 sums over
    ordered pairs: twice the tau. Centers nearer to each other than 0.0032 count as equal: they add
    nothing, and stay merged.

    Args:
        num_classes: number of classes C.
        embedding_dim: size D of the embeddings.
        alpha: factor on the similarities.
        margin: subtracted from the own class's similarity.
        gamma: inverse temperature of the soft assignment to centers: 10, where Qian et al.
            and roth2020 print its inverse, 0.1.
        tau: weight of the regularizer.
        centers_per_class: number of centers K of a class.
    """

    def __init__(
        self,
        num_classes: int,
        embedding_dim: int,
        *,
        alpha: Positive = 20,
        margin: float = 0.1,
        gamma: Positive = 10,
        tau: NotNegative = 0.2,
        centers_per_class: Count = 10,
    ):
        super().__init__()
        self.alpha, self.margin, self.gamma, self.tau = alpha, margin, gamma, tau
        centers = new_proxies(num_classes * centers_per_class, embedding_dim).detach()
        self.centers = nn.Parameter(centers.unflatten(0, (centers_per_class, num_classes)))

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B]."""
        centers = unit(self.centers)
        to_centers = products(unit(embeddings), centers.flatten(0, 1)).unflatten(
            1, centers.shape[:2]
        )
        S, _ = _SoftAssignment.apply(to_centers, self.gamma)
        margin = torch.full_like(labels[:, None], self.margin, dtype=S.dtype)
        logits = self.alpha * S.scatter_add(1, labels[:, None], -margin)
        loss = cross_entropy(logits, labels)
        if len(centers) == 1 or self.tau == 0:
            return loss
        return loss + self.tau * _spread(centers)


class _SoftAssignment(Step):
    """sum_k softmax_k(gamma s)_k s_k of [B, K, C]; the softmax is fastest over the middle."""

    @staticmethod
    def forward(s, gamma):
        share = (gamma * s).softmax(1)
        return (share * s).sum(1), share

    @staticmethod
    def setup_context(ctx, inputs, output):
        s, ctx.gamma = inputs
        ctx.save_for_backward(s, *output)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, grad, grad_share):
        s, S, share = ctx.saved_tensors
        parts = []
        if grad is not None:
            slope = (s - S[:, None]).mul_(ctx.gamma).add_(1).mul_(share)
            parts.append(slope.mul_(grad[:, None]))
        if grad_share is not None:
            parts.append(ctx.gamma * through_softmax(share, grad_share))
        return added(parts), None


def _spread(centers: Tensor) -> Tensor:
    K, C, _ = centers.shape
    of_class = centers.transpose(0, 1)
    squared = 2 - products(2 * of_class, of_class)
    apart = squared > 1e-5  # the gradient of a distance of 0 is not finite
    distance = torch.where(apart, torch.where(apart, squared, 1).sqrt(), 0)
    return distance.triu(1).sum() / (C * K * (K - 1))
