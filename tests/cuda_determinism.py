"""What CUDA has no deterministic kernel for, by torch 2.15's compiled library."""

import torch

# Operations whose kernels for CUDA call alertNotDeterministic in torch 2.15, always ...
_NOT_DETERMINISTIC = {
    "_adaptive_avg_pool2d_backward",
    "_adaptive_avg_pool3d_backward",
    "adaptive_max_pool2d_backward",
    "avg_pool3d_backward",
    "fractional_max_pool2d_backward",
    "fractional_max_pool3d_backward",
    "grid_sampler_2d_backward",
    "grid_sampler_3d_backward",
    "histc",
    "index_reduce",
    "index_reduce_",
    "max_unpool2d",
    "max_unpool3d",
    "put",
    "put_",
    "reflection_pad1d_backward",
    "reflection_pad3d_backward",
    "upsample_bicubic2d_backward",
    "upsample_bilinear2d_backward",
    "upsample_linear1d_backward",
    "upsample_trilinear3d_backward",
}
# ... and with such an argument.
_NOT_DETERMINISTIC_WITH = {
    "bincount": lambda weights=None, *_: weights is not None,
    "median": lambda dim=None, *_: dim is not None,
    "nanmedian": lambda dim=None, *_: dim is not None,
    "scatter_reduce": lambda dim, index, src, reduce, *_: reduce == "prod",
    "scatter_reduce_": lambda dim, index, src, reduce, *_: reduce == "prod",
}


def refuse_nondeterministic(name: str, args: tuple, kwargs: dict) -> None:
    """Raise where a GPU would, if deterministic algorithms are asked for.

    Args:
        name: of the operation, as the dispatcher calls it.
        args, kwargs: what it is given.
    """
    if not torch.are_deterministic_algorithms_enabled():
        return
    depends = _NOT_DETERMINISTIC_WITH.get(name)
    if name in _NOT_DETERMINISTIC or (depends and depends(*args[1:], **kwargs)):
        raise RuntimeError(f"{name} does not have a deterministic implementation")
