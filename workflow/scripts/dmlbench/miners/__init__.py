"""Tuple miners: which pairs or triplets of a batch a loss uses, one file each."""

from dmlbench import registry


def available() -> tuple[str, ...]:
    """Sorted names of all miners."""
    return registry.available("miners")


def build_miner(name: str, **hyperparameters):
    """Build a miner by name.

    Returns:
        A callable: embeddings [B, D] and labels [B] to `Pairs` or `Triplets`. Random miners draw
        from torch's global generator of the embeddings' device.

    Raises:
        UserError: unknown miner or hyper-parameter, with the near matches.
    """
    return registry.build("miners", name, **hyperparameters)
