"""Regularizers of deep metric learning, one file each. By what they act on (`acts_on`):

- `rho`, `rho_anchor`: the tuples of a miner. `tuples = regularizer(tuples)`.
- `embedding_l2`: the embeddings. `loss = loss + regularizer(embeddings)`.
- `proximity`: the weights. `regularizer.snapshot(network.parameters())` when a projection of PROFS
  (or an epoch) begins, `loss = loss + regularizer(network.parameters())` in every step;
  `state_dict` and `load_state_dict` for a checkpoint.
- `manifold_mixup`: the activations in the network, and the labels. `with regularizer.mixing(stages,
  batch_size) as mixture: embeddings = network(images)`, then `loss = mixture.loss(criterion,
  embeddings, labels)`.
"""

from dmlbench import registry


def available() -> tuple[str, ...]:
    """Sorted names of all regularizers."""
    return registry.available("regularizers")


def build_regularizer(name: str, **hyperparameters):
    """Build a regularizer by name.

    Raises:
        UserError: unknown regularizer or hyper-parameter, with the near matches, or a bad value.
    """
    return registry.build("regularizers", name, **hyperparameters)
