"""Structure of an embedding space: roth2020, section 5."""

from typing import NamedTuple

import numpy as np


class Spread(NamedTuple):
    """Mean distances within and between classes: roth2020, section 5, implications (i) to (iii).

    Attributes:
        intra: mean distance between two images of one class.
        inter: mean distance between the centers of two classes.

    Both are from 0 to 2 for rows of unit norm.
    """

    intra: float
    inter: float

    @property
    def ratio(self) -> float:
        """intra / inter: the density of the space; infinite if centers coincide."""
        return self.intra / self.inter if self.inter != 0 else float("inf")


def cosine_spread(vectors: np.ndarray, classes: np.ndarray) -> Spread:
    """Cosine distances, 1 - cos, within and between classes, as in the public code of roth2020.

    Within classes the mean over the pairs of each class, then over classes; between classes the
    mean over pairs of centers, each of unit length. A class of one image has no pair. NaN if no
    class has a pair, or if there is one class.

    Args:
        vectors: [N, D], rows of a class next to each other.
        classes: [N].
    """
    groups = [_unit(group.astype(np.float64)) for group in _groups(vectors, classes)]
    within = [_mean_cosine_distance(group) for group in groups if len(group) > 1]
    centers = np.stack([group.mean(0) for group in _groups(vectors.astype(np.float64), classes)])
    return Spread(
        float(np.mean(within)) if within else float("nan"),
        _mean_cosine_distance(_unit(centers)) if len(centers) > 1 else float("nan"),
    )


def euclidean_spread(vectors: np.ndarray, classes: np.ndarray) -> Spread:
    """Euclidean distances within and between classes, means over all pairs.

    The paper leaves the normalization Z and the distance open; its code has `cosine_spread`. A
    class of one image has no pair. NaN if no class has a pair, or if there is one class.

    Args:
        vectors: [N, D], rows of a class next to each other.
        classes: [N].
    """
    groups = [group.astype(np.float64) for group in _groups(vectors, classes)]
    centers = np.stack([group.mean(0) for group in groups])
    within = sum(len(group) * (len(group) - 1) // 2 for group in groups)
    between = len(centers) * (len(centers) - 1) // 2
    return Spread(
        sum(map(_summed_distances, groups)) / within if within else float("nan"),
        _summed_distances(centers) / between if between else float("nan"),
    )


def singular_values(vectors: np.ndarray) -> np.ndarray:
    """Singular values of the embeddings [N, D] as they are, not centered (roth2020, section 5).

    There are min(N, D) of them, float64, descending: roots of the eigenvalues of the smaller Gram
    matrix.
    """
    if len(vectors) < vectors.shape[1]:
        vectors = vectors.T
    gram = np.zeros((vectors.shape[1],) * 2)
    for some in _chunks(vectors, vectors.shape[1]):
        some = some.astype(np.float64)
        gram += some.T @ some
    return np.sqrt(np.linalg.eigvalsh(gram).clip(min=0))[::-1]


def class_spectrum(vectors: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Mean over classes of each class's singular values divided by their sum (roth2020, app. H).

    Args:
        vectors: [N, D], rows of a class next to each other.
        classes: [N].

    Returns:
        float64 [D]; classes of fewer than D images count as zero beyond their last value.
    """
    groups = _groups(vectors, classes)
    total = np.zeros(vectors.shape[1])
    for group in groups:
        values = np.linalg.svd(group.astype(np.float64), compute_uv=False)
        if values.sum() > 0:
            total[: len(values)] += values / values.sum()
    return total / len(groups)


def spectral_decay(spectrum: np.ndarray) -> float:
    """rho: KL divergence in nats from the uniform distribution to the spectrum (roth2020, sec. 5).

    The largest singular value is left out and the rest divided by their sum, as in the paper's
    footnote: KL(U || S) = mean of log(1 / n) - log s_i over the n values left. Lower is flatter; 0
    for a flat spectrum, infinite where a direction is not used at all.
    """
    rest = np.asarray(spectrum, np.float64)[1:]
    if len(rest) == 0 or rest[0] <= 0:
        return float("nan")
    # Rounding noise of an eigenvalue is not a direction of variance.
    if rest[-1] <= 1e-7 * spectrum[0]:
        return float("inf")
    return max(0.0, float(-np.mean(np.log(rest / rest.sum() * len(rest)))))


def structure_scores(
    vectors: np.ndarray, classes: np.ndarray, metrics: list[str]
) -> dict[str, float]:
    """The structure metrics of these names; for arguments see `cosine_spread`."""
    scores = {}
    for suffix, measured in _SPREADS.items():
        names = {f"pi_{each}{suffix}": each for each in ("intra", "inter", "ratio")}
        if names.keys() & set(metrics):
            spread = measured(vectors, classes)
            scores |= {name: getattr(spread, each) for name, each in names.items()}
    if "rho" in metrics:
        scores["rho"] = spectral_decay(singular_values(vectors))
    return {name: scores[name] for name in metrics}


_SPREADS = {"": cosine_spread, "_euclidean": euclidean_spread}
"""What follows the names of the distances -> how they are measured."""


def _unit(rows: np.ndarray) -> np.ndarray:
    """Rows at unit length; a zero row stays zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def _mean_cosine_distance(rows: np.ndarray) -> float:
    """Mean of 1 - cos over the pairs of rows of unit length: from their sum alone."""
    pairs = len(rows) * (len(rows) - 1)
    return float(1 - (np.square(rows.sum(0)).sum() - np.square(rows).sum()) / pairs)


def _groups(vectors: np.ndarray, classes: np.ndarray) -> list[np.ndarray]:
    """The rows of each class."""
    return np.split(vectors, np.flatnonzero(np.diff(classes)) + 1)


def _summed_distances(points: np.ndarray) -> float:
    """Sum of the distances of all unordered pairs of points."""
    # Imported here, because the other metrics do not need it.
    from scipy.spatial.distance import cdist, pdist

    total, end = 0.0, 0
    for some in _chunks(points, len(points)):
        end += len(some)
        total += pdist(some).sum() + cdist(some, points[end:]).sum()
    return float(total)


def _chunks(rows: np.ndarray, width: int) -> list[np.ndarray]:
    """The rows in chunks of at most 2^22 numbers, `width` per row."""
    step = max(1, (1 << 22) // max(1, width))
    return [rows[begin : begin + step] for begin in range(0, len(rows), step)]
