"""Losses of deep metric learning: one file each, the equation and its source in the docstring."""

import inspect

from dmlbench import registry
from dmlbench.errors import check_count
from dmlbench.losses._forces import forces
from dmlbench.losses._memory import CrossBatchMemory

__all__ = ["CrossBatchMemory", "available", "build_loss", "forces"]


def available() -> tuple[str, ...]:
    """Sorted names of all losses."""
    return registry.available("losses")


def build_loss(name: str, *, num_classes: int, embedding_dim: int, **hyperparameters):
    """Build a loss by name.

    Args:
        name: one of `available()`.
        num_classes: number of training classes C; labels are in [0, C).
        embedding_dim: size D of the embeddings.
        hyperparameters: the loss's keyword-only arguments.

    Returns:
        A `torch.nn.Module` called with embeddings [B, D], labels [B] (integers) and, optionally,
        the `Pairs` or `Triplets` of a miner; it returns a scalar. It raises a UserError if these
        violate `dmlbench.losses._contract.Contract`.

    Raises:
        UserError: unknown loss or hyper-parameter, with the near matches; a number of classes or
            a size below 1; proxies of a single class, which have nothing to be compared with.
    """
    check_count("num_classes", num_classes, least=1)
    check_count("embedding_dim", embedding_dim, least=1)
    context = {"num_classes": num_classes, "embedding_dim": embedding_dim}
    loss = registry.build("losses", name, context=context, **hyperparameters)
    # Here, because torch takes a second to load and listing names does not need it.
    from dmlbench.losses._contract import Contract

    takes = inspect.signature(type(loss)).parameters
    facts = {fact: value if fact in takes else None for fact, value in context.items()}
    if None not in facts.values():
        check_count("num_classes", num_classes, least=2)
    Contract(**facts).bind(loss)
    return loss
