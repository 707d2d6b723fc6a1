"""Batches that every loss must handle, for the tests of this folder."""

import torch

LABELS = {
    "three classes of four": [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2],
    "unequal classes, odd size": [0, 3, 3, 1, 0, 5, 7, 7, 7, 7, 2],
    "no positives": [4, 1, 0, 6, 2],
    "no negatives": [3, 3, 3, 3, 3, 3],
    "duplicates": [0, 0, 0, 1, 1, 2, 2, 6],
    "one sample": [5],
}
NUM_CLASSES = 8
EMBEDDING_DIM = 6


def batch(name: str, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Embeddings [B, D] in float64, not of unit length, and labels [B]."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.tensor(LABELS[name])
    x = torch.randn(len(labels), EMBEDDING_DIM, generator=generator, dtype=torch.float64)
    if name == "duplicates":
        x[1] = x[0]  # within a class
        x[4] = x[0]  # across classes
        x[7] = x[5]
    return x, labels


def value_and_gradients(loss, x: torch.Tensor, *rest) -> list[torch.Tensor]:
    """The loss, its gradient with respect to x, and to each parameter it has."""
    x = x.clone().requires_grad_()
    parameters = list(loss.parameters()) if isinstance(loss, torch.nn.Module) else []
    value = loss(x, *rest)
    gradients = torch.autograd.grad(value, [x, *parameters], allow_unused=True)
    zeros = [torch.zeros_like(of) for of in [x, *parameters]]
    return [value.detach()] + [
        zero if gradient is None else gradient
        for gradient, zero in zip(gradients, zeros, strict=True)
    ]
