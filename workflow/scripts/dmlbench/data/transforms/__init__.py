"""Image transforms on batches, on the device of the images, one a file.

A transform is called with images [B, C, H, W] (uint8 in 0..255 or float in 0..1) and a
`torch.Generator`, and returns images.
"""

from collections.abc import Callable

from torch import Generator, Tensor

from dmlbench import registry
from dmlbench.data.transforms.to_float import ToFloat
from dmlbench.errors import UserError


def available() -> tuple[str, ...]:
    """Sorted names of all transforms."""
    return registry.available("data/transforms")


def build_transforms(steps: list[dict]) -> Callable[[Tensor, Generator | None], Tensor]:
    """Build a chain of transforms.

    Args:
        steps: one {name: hyper-parameters} each, in order; hyper-parameters may be null.

    Returns:
        A callable: images uint8 [B, C, H, W] and a generator (None: torch's global one) to
        images float32 of the same batch. Equal seeds give equal images.

    Raises:
        UserError: a step that is not one name with its hyper-parameters, an unknown transform
            or hyper-parameter, a value that cannot be.
    """
    chain = [_build(step) for step in steps] + [ToFloat()]

    def transform(images: Tensor, generator: Generator | None = None) -> Tensor:
        for step in chain:
            images = step(images, generator)
        return images

    return transform


def _build(step: dict):
    if not isinstance(step, dict) or len(step) != 1:
        raise UserError(f"transform {step!r}: allowed: one name with its hyper-parameters")
    ((name, given),) = step.items()
    return registry.build("data/transforms", name, **(given or {}))
