"""Batch samplers: which images make a batch, one per file.

Every sampler has

- `len(sampler)`: the batches of an epoch;
- `epoch(number)`: an iterator over an epoch's batches, int64 arrays [batch_size] of image
  indices. It depends only on labels, hyper-parameters, seed and epoch number, so that
  `itertools.islice(sampler.epoch(number), done, None)` resumes in the middle of an epoch.

`profs` and `profs_hncm` yield a `Batch` instead: rows, which of them are class representatives,
and the projection that the batch belongs to.

Samplers that choose by embedding (`greedy_coreset`, `distance_distribution`, `frd`,
`profs_hncm`) are `LearnsFromEmbeddings`:

- `update(indices, embeddings)`: call it with each batch and its embeddings [B, D] after the forward
  pass; a batch is chosen by the memory at the moment it is requested, so request it after the
  update (or always the same number of batches ahead);
- `state_dict()` and `load_state_dict(state)`: the memory, as tensors, for a checkpoint.
"""

from collections.abc import Sequence

from dmlbench import registry
from dmlbench.samplers._batch import Batch, LearnsFromEmbeddings, Sampler

__all__ = ["Batch", "LearnsFromEmbeddings", "Sampler", "available", "build_sampler"]


def available() -> tuple[str, ...]:
    """Sorted names of all batch samplers."""
    return registry.available("samplers")


def build_sampler(
    name: str, labels: Sequence[int], *, batch_size: int, seed: int = 0, **hyperparameters
) -> Sampler:
    """Build a batch sampler by name.

    Args:
        name: one of `available()`.
        labels: class of each training image, [N] integers.
        batch_size: images in a batch.
        seed: the same seed gives the same batches, >= 0.
        hyperparameters: the sampler's keyword-only arguments.

    Raises:
        UserError: unknown sampler or hyper-parameter, with the near matches, or a value that does
            not fit the labels or the batch size.
    """
    context = {"labels": labels, "batch_size": batch_size, "seed": seed}
    return registry.build("samplers", name, context=context, **hyperparameters)
