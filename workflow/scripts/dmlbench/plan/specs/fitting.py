"""Checks across the parts of a spec: values that each part allows, but that do not fit together."""

from collections.abc import Mapping, Sequence
from typing import Any

from dmlbench import registry
from dmlbench.errors import UserError


def check_batch(sampler: Mapping[str, Any], batch_size: int) -> None:
    """Raise a UserError unless a sampler can make batches of this size, given enough data.

    Args:
        sampler: its name and options, as in a spec: `{"name": "spc", "images_per_class": 2}`.
    """
    where = f"sampler {sampler['name']}: batch_size is {batch_size}"
    for option in ("images_per_class", "group_size"):
        images = _option("samplers", sampler, option)
        if images is not None and batch_size % images:
            raise UserError(f"{where}; allowed: a multiple of {option}, {images}")
    pool_size = _option("samplers", sampler, "pool_size")
    if pool_size is not None and batch_size > pool_size:
        raise UserError(f"{where}; allowed: up to pool_size, {pool_size}")
    if sampler["name"] == "spc_r" and batch_size < 2:
        raise UserError(f"{where}; allowed: 2 or more, for a positive pair")


def check_transforms(
    transforms: Mapping[str, Sequence[Mapping[str, Any]]], pixels: int | None
) -> None:
    """Raise a UserError if a transform crops more than its input image.

    Args:
        transforms: role (`train`, `test`) -> chain of transforms, as in a spec.
        pixels: the packed images' shorter side; None if unknown.
    """
    for role, chain in transforms.items():
        shorter = pixels
        for position, transform in enumerate(chain):
            package, name = "data/transforms", transform["name"]
            for option in registry.options_of_kind(package, name, "CropSize"):
                size = _option(package, transform, option)
                if shorter is not None and size > shorter:
                    raise UserError(
                        f"transforms.{role}.{position}: {name}: {option} is {size}; allowed: up "
                        f"to {shorter}, the images' shorter side"
                    )
            # Every transform with a size gives images of that size.
            shorter = _option(package, transform, "size") or shorter


def check_folds(rule: str, folds: Sequence[int] | None) -> None:
    """Raise a UserError unless a split rule has these folds; a rule without folds has none."""
    count = registry.constant("data/splits", rule, "FOLDS")
    if count is None and folds is not None:
        raise UserError(f"{folds[0]}: split rule {rule} has no folds; allowed: none")
    if count is not None and folds is None:
        raise UserError(f"is missing: split rule {rule} has folds; allowed: 0 to {count - 1}")
    for fold in folds or ():
        if fold >= count:
            raise UserError(f"{fold}: split rule {rule} lacks it; allowed: 0 to {count - 1}")


def _option(package: str, choice: Mapping[str, Any], option: str) -> Any:
    """An option's value, or its default; None if the part has no such option."""
    declared = registry.options(package, choice["name"])
    return choice.get(option, declared[option].default) if option in declared else None
