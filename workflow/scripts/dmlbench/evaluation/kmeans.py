"""k-means by faiss or by torch: Lloyd's algorithm over rows that an engine holds."""

from typing import NamedTuple, Protocol

import numpy as np

from dmlbench.errors import check_count


class Clusters(NamedTuple):
    """A clustering.

    Attributes:
        assignment: int64 [N]; cluster of each row, in [0, K).
        inertia: sum of squared distances from rows to their cluster centers.
    """

    assignment: np.ndarray
    inertia: float


class Points(Protocol):
    """The rows to cluster, held by an engine."""

    def nearest(self, centers: np.ndarray, rows=slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """The nearest center of each of these rows, int64, and the squared distance to it."""

    def sums(self, assignment: np.ndarray, clusters: int) -> np.ndarray:
        """The sum of each cluster's rows, [K, D], always in the order of the rows.

        So a cluster whose rows stay the same keeps its center bit for bit.
        """


def kmeans(
    vectors: np.ndarray,
    clusters: int,
    *,
    seed: int = 0,
    restarts: int = 1,
    iterations: int = 20,
    engine: str = "auto",
    device="cpu",
) -> Clusters:
    """Cluster rows by Euclidean k-means; of several restarts, the one of least inertia counts.

    Args:
        vectors: float32 [N, D].
        clusters: K, at most N.
        seed: the first centers are K rows drawn by it; the same seed gives the same clustering.
        restarts: further draws of first centers come from the same seed.
        iterations: of Lloyd's algorithm, or fewer once no center moves.
        engine: what finds the nearest centers: "faiss" (on a GPU if `device` is one and faiss-gpu
            is installed), "torch", or "auto": faiss, except on a GPU that faiss cannot use. Results
            differ only where distances are equal up to rounding.
        device: where to search.

    Raises:
        UserError: restarts is not a whole number of at least 1.
    """
    check_count("restarts", restarts, least=1)
    points = _points(engine, vectors, device)
    generator = np.random.default_rng(seed)
    best = None
    for _ in range(restarts):
        first = np.sort(generator.choice(len(vectors), clusters, replace=False))
        one = _lloyd(points, vectors[first], iterations)
        if best is None or one.inertia < best.inertia:
            best = one
    return best


def _points(engine: str, vectors: np.ndarray, device) -> Points:
    # Imported here, because each loads its library.
    if engine != "torch":
        from dmlbench.evaluation.faiss_points import FaissPoints, can_use

        if engine == "faiss" or can_use(device):
            return FaissPoints(vectors, device)
    from dmlbench.evaluation.torch_points import TorchPoints

    return TorchPoints(vectors, device)


def _lloyd(points: Points, centers: np.ndarray, iterations: int) -> Clusters:
    """Lloyd's algorithm, computing only the distances that may have changed.

    A row whose own center did not move compares its old distance with the centers that did. With
    few rows per cluster most centers soon stop moving, and an iteration costs a fraction of all
    pairs.
    """
    assignment, distance = points.nearest(centers)
    for _ in range(iterations):
        before, centers = centers, _means(points, assignment, centers)
        changed = (before != centers).any(1)
        if not changed.any():
            break
        if changed.all():
            assignment, distance = points.nearest(centers)
            continue
        lost = np.flatnonzero(changed[assignment])
        kept = np.flatnonzero(~changed[assignment])
        changed = np.flatnonzero(changed)
        if len(lost):
            assignment[lost], distance[lost] = points.nearest(centers, lost)
        if len(kept):
            challenger, nearer = points.nearest(centers[changed], kept)
            won = nearer < distance[kept]
            assignment[kept[won]], distance[kept[won]] = changed[challenger[won]], nearer[won]
    return Clusters(assignment, float(distance.sum(dtype=np.float64)))


def _means(points: Points, assignment: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """The mean of each cluster; half of the largest one splits off for each empty one."""
    count = np.bincount(assignment, minlength=len(centers))
    means = points.sums(assignment, len(centers))
    means /= count.clip(min=1).astype(means.dtype)[:, None]
    empty = np.flatnonzero(count == 0)
    if len(empty):
        largest = np.argsort(-count, kind="stable")[: len(empty)]
        shift = np.resize(np.array([1, -1], means.dtype), means.shape[1]) / 1024
        means[empty] = means[largest] * (1 + shift)
        means[largest] *= 1 - shift
    return means
