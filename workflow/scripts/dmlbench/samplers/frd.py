"""FRD: the batch whose embeddings' mean and covariance are nearest to those of a pool."""

from typing import Annotated

import numpy as np

from dmlbench.samplers._embedded import EmbeddedSampler
from dmlbench.values import Added, Count

FORMERLY = {"frd_groups": {"group_size": ...}}


class Frd(EmbeddedSampler):
    """Of m random batches of the pool, the one with the smallest Frechet distance to the pool.

    FRD = ||mu - mu*||^2 + Tr(S + S* - 2 (S S*)^(1/2)), with means mu and covariances S of the
    embeddings of the batch and of the pool (*): roth2020, section 3.2. Pool, memory and first
    epoch: see `EmbeddedSampler`. The paper does not print m; 10 is what the authors' public runs
    used.

    Args:
        pool_size: images b* of the pool, at least batch_size.
        group_size: images of a class that are drawn and chosen together; batch_size is a multiple
            of it. The text has single images, the authors' public code pairs, with a pool of 512.
        candidates: m.
    """

    pool_size: Count = 1024
    group_size: Annotated[Count, Added()] = 1
    candidates: Count = 10

    def choose(self, rng: np.random.Generator, pool: np.ndarray) -> np.ndarray:
        pool = pool.astype(np.float64)
        size = pool.shape[-1]
        images = pool.reshape(-1, size)
        mean, covariance = images.mean(0), np.cov(images, rowvar=False).reshape(size, size)
        drawn = [
            rng.choice(len(pool), self.groups_per_batch, replace=False)
            for _ in range(self.candidates)
        ]
        errors = [frechet(pool[chosen].reshape(-1, size), mean, covariance) for chosen in drawn]
        return drawn[int(np.argmin(errors))]


def frechet(batch: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> float:
    """Frechet distance of a batch [b, D] from a distribution's mean [D] and covariance [D, D].

    With the batch's covariance S = X^T X, the eigenvalues of S S* other than zero are those of
    X S* X^T, a symmetric matrix of size b, so no matrix square root is taken. Covariances are
    divided by b - 1; a batch of one has covariance zero.
    """
    offset = batch.mean(0)
    centered = (batch - offset) / np.sqrt(max(len(batch) - 1, 1))
    # At most D are not zero; the rest is rounding, which a root would magnify.
    eigenvalues = np.linalg.eigvalsh(centered @ covariance @ centered.T)[-len(mean) :]
    trace_of_root = np.sqrt(np.maximum(eigenvalues, 0)).sum()
    traces = np.square(centered).sum() + np.trace(covariance)
    return float(np.square(offset - mean).sum() + traces - 2 * trace_of_root)
