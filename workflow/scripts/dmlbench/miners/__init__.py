"""Tuple miners: which pairs or triplets of a batch a loss uses, one file each."""

from dmlbench import registry


def available() -> tuple[str, ...]:
    """Sorted names of all miners."""
    return registry.available("miners")


def build_miner(name: str, **hyperparameters):
    """Build a miner by name.

    Returns:
        A callable: embeddings [B, D] and labels [B] to `Pairs` or `Triplets`. Random miners draw
        from torch's global generator of the embeddings' device. It raises a UserError if these
        violate `dmlbench.miners._contract.Contract`.

    Raises:
        UserError: unknown miner or hyper-parameter, with the near matches.
    """
    miner = registry.build("miners", name, **hyperparameters)
    # Here, because torch takes a second to load and listing names does not need it.
    from dmlbench.miners._contract import Contract

    return Contract(miner)
