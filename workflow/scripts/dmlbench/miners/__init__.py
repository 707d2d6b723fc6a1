"""Tuple miners: which pairs or triplets of a batch a loss uses, one file each."""

from dmlbench import registry


def available() -> tuple[str, ...]:
    """Sorted names of all miners."""
    return registry.available("miners")


def build_miner(name: str, **hyperparameters):
    """Build a miner by name.

    Options that are not given have the values that the library prefers: those of the miner's
    signature, but that it computes about the middle of the batch (`centered`).

    Returns:
        A callable: embeddings [B, D] and labels [B] to `Pairs` or `Triplets`. Random miners draw
        from torch's global generator of the embeddings' device. It raises a UserError if these
        violate `dmlbench.miners._contract.Contract`.

    Raises:
        UserError: unknown miner or hyper-parameter, with the near matches.
    """
    preferred = registry.preferred("miners", name)
    miner = registry.build("miners", name, **preferred | hyperparameters)
    # Here, because torch takes a second to load and listing names does not need it.
    from dmlbench.miners._contract import Contract

    return Contract(miner)
