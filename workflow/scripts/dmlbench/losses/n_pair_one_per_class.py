"""N-pair loss on one pair of each class."""

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, embedding

from dmlbench.losses._geometry import NEVER, products, widened
from dmlbench.losses._loss import Loss
from dmlbench.values import NotNegative


class NPairOnePerClass(Loss):
    """Mean over classes of log(1 + sum_(d != c) e^(a_c p_d - a_c p_c)), plus l2 times mean |x|^2.

    a_c and p_c are the embeddings, as given, of a class's first two images in the batch; classes
    with one image are left out. Source: Sohn 2016 eq. 7 on batches of pairs, which can2019
    table 1 runs. `n_pair` and `n_pair_per_pair` use every image of the batch.

    Args:
        l2: weight of the mean squared length of the embeddings.
    """

    l2: NotNegative = 0.02

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """Loss (scalar) of embeddings [B, D] with labels [B]."""
        x = widened(embeddings)
        pairs, real = _first_two_of_each_class(labels)
        anchors, positives = embedding(pairs, x)
        S = products(anchors, positives)
        logits = S + torch.where(real, 0, NEVER)
        losses = cross_entropy(logits, torch.arange(len(S), device=S.device), reduction="none")
        loss = (losses * real).sum() / real.sum().clamp_min(1)
        return loss + self.l2 * x.square().sum(1).mean() if self.l2 else loss


def _first_two_of_each_class(labels: Tensor) -> tuple[Tensor, Tensor]:
    """Indices of anchors and positives, [2, B // 2 + 1], and which of these are pairs."""
    order = labels.argsort(stable=True)
    y = labels[order]
    next_is_same = torch.cat([y[:-1] == y[1:], y[:1] != y[:1]])
    starts = torch.cat([y[:1] == y[:1], y[:-1] != y[1:]])
    first_of_pair = starts & next_is_same
    # shapes must not depend on the data: classes without a pair go to the last place
    last = len(labels) // 2
    place = torch.where(first_of_pair, first_of_pair.cumsum(0) - 1, last).expand(2, -1)
    pairs = order.new_zeros(2, last + 1)
    pairs.scatter_(1, place, torch.stack([order, order.roll(-1)]))
    return pairs, torch.arange(last + 1, device=labels.device) < first_of_pair.sum()
