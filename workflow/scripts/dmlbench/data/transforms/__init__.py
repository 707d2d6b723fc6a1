"""Image transforms on batches, on the device of the images, one per file.

A transform is called with images [B, C, H, W] (uint8 in 0..255 or float in 0..1) and a
`torch.Generator`, and returns images. One whose class says `takes_ragged` also takes images of
several sizes; a file whose transform draws from the generator has the constant RANDOM, where the
plan reads it.
"""

from collections.abc import Callable

from torch import Generator, Tensor

from dmlbench import registry
from dmlbench.data.ragged import Ragged
from dmlbench.data.transforms.to_float import ToFloat
from dmlbench.errors import UserError


def available() -> tuple[str, ...]:
    """Sorted names of all transforms."""
    return registry.available("data/transforms")


def build_transforms(steps: list[dict]) -> Callable[[Tensor | Ragged, Generator | None], Tensor]:
    """Build a chain of transforms.

    Args:
        steps: one {name: hyper-parameters} each, in order; hyper-parameters may be null.

    Returns:
        A callable: images uint8 [B, C, H, W], or ragged, and a generator (None: torch's global
        one) to images float32 [B, C, H, W] of the same batch. Equal seeds give equal images. It
        raises a UserError if images of several sizes reach a step that needs one size.

    Raises:
        UserError: a step that is not one name with its hyper-parameters, an unknown transform or
            hyper-parameter, a value that is not allowed.
    """
    names = [*(name for step in steps for name in step), "the network"]
    chain = [_build(step) for step in steps] + [ToFloat()]

    def transform(images: Tensor | Ragged, generator: Generator | None = None) -> Tensor:
        for name, step in zip(names, chain, strict=True):
            if isinstance(images, Ragged) and not hasattr(step, "takes_ragged"):
                raise _several_sizes(images, name)
            images = step(images, generator)
        return images

    return transform


def _several_sizes(images: Ragged, name: str) -> UserError:
    smallest, largest = images.sizes.min(axis=0).tolist(), images.sizes.max(axis=0).tolist()
    return UserError(
        f"{name} needs images of one size, these have {smallest[0]} to {largest[0]} rows and "
        f"{smallest[1]} to {largest[1]} columns; before it, list center_crop, random_crop or "
        "random_resized_crop"
    )


def _build(step: dict):
    if not isinstance(step, dict) or len(step) != 1:
        raise UserError(f"transform {step!r}: allowed: one name with its hyper-parameters")
    ((name, given),) = step.items()
    return registry.build("data/transforms", name, **(given or {}))
