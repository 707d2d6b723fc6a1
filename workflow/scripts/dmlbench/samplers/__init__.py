"""Batch samplers: which images make a batch, one file each."""

from collections.abc import Sequence

from dmlbench import registry


def available() -> tuple[str, ...]:
    """Sorted names of all batch samplers."""
    return registry.available("samplers")


def build_sampler(
    name: str, labels: Sequence[int], *, batch_size: int, seed: int = 0, **hyperparameters
):
    """Build a batch sampler by name.

    Args:
        name: one of `available()`.
        labels: class of each training image, [N] integers.
        batch_size: images a batch.
        seed: the same seed gives the same batches.
        hyperparameters: the sampler's keyword-only arguments.

    Raises:
        UserError: unknown sampler or hyper-parameter, with the near matches.
    """
    context = {"labels": labels, "batch_size": batch_size, "seed": seed}
    return registry.build("samplers", name, context=context, **hyperparameters)
