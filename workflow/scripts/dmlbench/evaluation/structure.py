"""Structure of an embedding space: roth2020, section 5."""

from typing import NamedTuple

import numpy as np
import torch


class Spread(NamedTuple):
    """Mean distances within and between classes.

    Attributes:
        pi_intra: mean Euclidean distance between two images of one class, over all such pairs.
        pi_inter: mean Euclidean distance between the centers of two classes, over all pairs.

    Both are at least 0, and at most 2 for rows of unit norm.
    """

    pi_intra: float
    pi_inter: float

    @property
    def pi_ratio(self) -> float:
        """pi_intra / pi_inter: the density of the space; infinite where centers coincide."""
        return self.pi_intra / self.pi_inter if self.pi_inter > 0 else float("inf")


def class_spread(vectors: torch.Tensor, classes: torch.Tensor) -> Spread:
    """Distances within and between classes (roth2020, section 5, implications (i) to (iii)).

    The paper leaves the normalization Z open; here both are means over pairs. A class of one
    image has no pair. NaN where no class has a pair, or where there is one class.

    Args:
        vectors: [N, D], rows of a class next to each other.
        classes: int64 [N].
    """
    _, size = torch.unique_consecutive(classes, return_counts=True)
    intra, centers = 0.0, []
    for group in vectors.double().split(size.tolist()):
        centers.append(group.mean(0))
        intra += _summed_distances(group)
    pairs = float((size * (size - 1) // 2).sum())
    centers = torch.stack(centers)
    between = len(size) * (len(size) - 1) / 2
    return Spread(
        intra / pairs if pairs else float("nan"),
        _summed_distances(centers) / between if between else float("nan"),
    )


def singular_values(vectors: torch.Tensor) -> np.ndarray:
    """Singular values of the embeddings [N, D] as they are, not centered (roth2020, section 5).

    There are min(N, D) of them, float64, descending: roots of the eigenvalues of the smaller Gram
    matrix.
    """
    gram = torch.zeros(2 * (min(vectors.shape),), dtype=torch.float64, device=vectors.device)
    if len(vectors) < vectors.shape[1]:
        gram = vectors.double() @ vectors.double().T
    else:
        for some in vectors.split(max(1, (1 << 22) // vectors.shape[1])):
            gram.addmm_(some.double().T, some.double())
    return torch.linalg.eigvalsh(gram).clamp(min=0).sqrt().flip(0).cpu().numpy()


def class_spectrum(vectors: torch.Tensor, classes: torch.Tensor) -> np.ndarray:
    """Mean over classes of each class's singular values divided by their sum (roth2020, app. H).

    Returns:
        float64 [D]; classes of fewer than D images count as zero beyond their last value.
    """
    _, size = torch.unique_consecutive(classes, return_counts=True)
    total = np.zeros(vectors.shape[1])
    for group in vectors.split(size.tolist()):
        values = torch.linalg.svdvals(group.double()).cpu().numpy()
        if values.sum() > 0:
            total[: len(values)] += values / values.sum()
    return total / len(size)


def spectral_decay(spectrum: np.ndarray) -> float:
    """rho: KL divergence in nats from the uniform distribution to the spectrum (roth2020, sec. 5).

    The largest singular value is left out and the rest divided by their sum, as the paper's
    footnote has it: KL(U || S) = mean of log(1 / n) - log s_i over the n values left. Lower is
    flatter; 0 for a flat spectrum, infinite where a direction is not used at all.
    """
    rest = np.asarray(spectrum, np.float64)[1:]
    if len(rest) == 0 or rest[0] <= 0:
        return float("nan")
    # An eigenvalue's rounding noise is no direction of variance.
    if rest[-1] <= 1e-7 * spectrum[0]:
        return float("inf")
    return max(0.0, float(-np.mean(np.log(rest / rest.sum() * len(rest)))))


def structure_scores(
    vectors: torch.Tensor, classes: torch.Tensor, metrics: list[str]
) -> dict[str, float]:
    """The structure metrics of these names; arguments as of `class_spread`."""
    scores = {}
    if any(name.startswith("pi_") for name in metrics):
        spread = class_spread(vectors, classes)
        scores |= {name: getattr(spread, name) for name in ("pi_intra", "pi_inter", "pi_ratio")}
    if "rho" in metrics:
        scores["rho"] = spectral_decay(singular_values(vectors))
    return {name: scores[name] for name in metrics}


def _summed_distances(points: torch.Tensor) -> float:
    """Sum of the distances of all unordered pairs of points."""
    step = max(1, (1 << 22) // max(1, len(points)))
    return sum(float(torch.cdist(some, points).sum()) for some in points.split(step)) / 2
