"""BatchNorm whose statistics are those of the batches of all processes."""

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from dmlbench.distributed import summed
from dmlbench.tensors import HALF


class SynchronizedBatchNorm(_BatchNorm):
    """BatchNorm that normalizes by the mean and variance over all processes while training.

    torch's SyncBatchNorm does the same on GPUs only; this one also runs, and is tested, on CPUs.
    """

    def forward(self, x: Tensor) -> Tensor:
        """x [B, C, ...], normalized; of the type of x."""
        if not self.training:
            return super().forward(x)
        values = x.float() if x.dtype in HALF else x
        kept = [1, -1, *[1] * (x.dim() - 2)]
        others = [dimension for dimension in range(x.dim()) if dimension != 1]
        count = values.new_tensor([x.numel() / x.shape[1]])
        total = summed(torch.cat([values.sum(others), count]))
        count = total[-1].detach()
        mean = total[:-1] / count
        centered = values - mean.view(kept)
        variance = summed(centered.square().sum(others)) / count
        self._follow(mean.detach(), variance.detach() * (count / (count - 1)))
        normalized = centered * (variance + self.eps).rsqrt().view(kept)
        if self.affine:
            normalized = normalized * self.weight.view(kept) + self.bias.view(kept)
        return normalized.to(x.dtype)

    def _check_input_dim(self, x: Tensor) -> None:
        """Any number of dimensions."""

    def _follow(self, mean: Tensor, variance: Tensor) -> None:
        if not self.track_running_stats:
            return
        self.num_batches_tracked.add_(1)
        factor = self.momentum
        if factor is None:
            factor = 1 / float(self.num_batches_tracked)
        self.running_mean.lerp_(mean, factor)
        self.running_var.lerp_(variance, factor)


def synchronized(module: nn.Module) -> nn.Module:
    """The module with every BatchNorm in it synchronized; parameters and buffers are the same."""
    if isinstance(module, _BatchNorm) and not isinstance(module, SynchronizedBatchNorm):
        new = SynchronizedBatchNorm(
            module.num_features,
            module.eps,
            module.momentum,
            module.affine,
            module.track_running_stats,
        )
        new.weight, new.bias = module.weight, module.bias
        for name, buffer in module.named_buffers(recurse=False):
            setattr(new, name, buffer)
        return new.train(module.training)
    for name, child in module.named_children():
        setattr(module, name, synchronized(child))
    return module
