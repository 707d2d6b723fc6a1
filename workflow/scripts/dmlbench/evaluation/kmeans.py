"""k-means by faiss or by torch: Lloyd's algorithm over rows that an engine keeps."""

from typing import NamedTuple, Protocol

import numpy as np

from dmlbench.errors import UserError

ENGINES = ("auto", "faiss", "torch")


class Clusters(NamedTuple):
    """A clustering.

    Attributes:
        assignment: int64 [N]; cluster of each row, in [0, K).
        inertia: sum of squared distances from rows to their cluster centers.
    """

    assignment: np.ndarray
    inertia: float


class Points(Protocol):
    """The rows to cluster, where an engine keeps them."""

    def nearest(self, centers: np.ndarray, rows=slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """The nearest center of each of these rows, int64, and the squared distance to it."""

    def sums(self, assignment: np.ndarray, clusters: int) -> np.ndarray:
        """The sum of each cluster's rows, [K, D], always in the order of the rows.

        A cluster that keeps its rows thereby keeps its center bit by bit.
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
    """Cluster rows by Euclidean k-means; of several restarts, the one of least inertia.

    Args:
        vectors: float32 [N, D].
        clusters: K, at most N.
        seed: the first centers are K rows drawn by it; the same seed gives the same clustering.
        restarts: further draws of first centers come from the same seed.
        iterations: of Lloyd's algorithm, or fewer once no center moves.
        engine: who finds the nearest centers: "faiss" (on a GPU if `device` is one and faiss-gpu
            is installed), "torch", or "auto": faiss, except on a GPU that faiss cannot use. The
            results are the same but for distances equal to rounding.
        device: where to search.

    Raises:
        UserError: clusters, restarts, iterations or engine out of range.
    """
    for name, value, largest in (
        ("clusters", clusters, len(vectors)),
        ("restarts", restarts, None),
        ("iterations", iterations, None),
    ):
        if value < 1 or (largest and value > largest):
            raise UserError(f"{name}={value}; allowed: 1 to {largest or 'any number'}")
    if engine not in ENGINES:
        raise UserError(f"engine {engine!r}; allowed: {', '.join(ENGINES)}")
    points = _points(engine, vectors, device)
    generator = np.random.default_rng(seed)
    found = None
    for _ in range(restarts):
        first = np.sort(generator.choice(len(vectors), clusters, replace=False))
        one = _lloyd(points, vectors[first], iterations)
        if found is None or one.inertia < found.inertia:
            found = one
    return found


def _points(engine: str, vectors: np.ndarray, device) -> Points:
    if engine == "torch":
        return _TorchPoints(vectors, device)
    import faiss

    on_gpu = str(device).startswith("cuda")
    if engine == "auto" and on_gpu and not hasattr(faiss, "StandardGpuResources"):
        return _TorchPoints(vectors, device)
    return _FaissPoints(vectors, device)


def _lloyd(points: Points, centers: np.ndarray, iterations: int) -> Clusters:
    """Lloyd's algorithm, looking only at pairs whose distance can have changed.

    A row whose own center stayed compares its old distance with the centers that moved. With few
    rows a cluster most centers soon stay, and an iteration costs a fraction of all pairs.
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


class _FaissPoints:
    """Rows in main memory; faiss searches them, on a GPU where there is one for it."""

    def __init__(self, vectors: np.ndarray, device):
        self._vectors = np.ascontiguousarray(vectors, np.float32)
        self._device = str(device)

    def nearest(self, centers: np.ndarray, rows=slice(None)):
        import faiss

        index = faiss.IndexFlatL2(centers.shape[1])
        if self._device.startswith("cuda") and hasattr(faiss, "StandardGpuResources"):
            _, _, number = self._device.partition(":")
            resources = faiss.StandardGpuResources()
            index = faiss.index_cpu_to_gpu(resources, int(number or 0), index)
        index.add(centers)
        distance, nearest = index.search(self._vectors[rows], 1)
        return nearest[:, 0], distance[:, 0]

    def sums(self, assignment: np.ndarray, clusters: int) -> np.ndarray:
        from scipy.sparse import csr_array

        rows = len(assignment)
        ones, members = np.ones(rows, np.float32), np.arange(rows)
        return csr_array((ones, (assignment, members)), shape=(clusters, rows)) @ self._vectors


class _TorchPoints:
    """Rows and distances as tensors of the device."""

    def __init__(self, vectors: np.ndarray, device):
        import torch

        self._torch = torch
        self._vectors = torch.from_numpy(vectors).to(device)

    def nearest(self, centers: np.ndarray, rows=slice(None)):
        centers = self._there(centers)
        half = centers.square().sum(1) / 2
        vectors = self._vectors[rows if isinstance(rows, slice) else self._there(rows)]
        nearest, distance = [], []
        for some in vectors.split(max(1, (1 << 22) // len(centers))):
            nearness, place = self._torch.addmm(-half, some, centers.T).max(1)
            nearest.append(place)
            distance.append((some.square().sum(1) - 2 * nearness).clamp_(min=0))
        return tuple(self._torch.cat(parts).cpu().numpy() for parts in (nearest, distance))

    def sums(self, assignment: np.ndarray, clusters: int) -> np.ndarray:
        assignment = self._there(assignment)
        if self._vectors.is_cuda:
            # There, index_add_ sums in any order.
            order = assignment.argsort(stable=True)
            count = self._torch.bincount(assignment, minlength=clusters)
            sums = self._torch.segment_reduce(
                self._vectors[order], "sum", lengths=count, axis=0, initial=0.0
            )
        else:
            sums = self._vectors.new_zeros(clusters, self._vectors.shape[1])
            sums.index_add_(0, assignment, self._vectors)
        return sums.cpu().numpy()

    def _there(self, values: np.ndarray):
        return self._torch.from_numpy(values).to(self._vectors.device)
