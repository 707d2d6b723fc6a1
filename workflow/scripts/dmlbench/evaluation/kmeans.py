"""k-means by faiss on a GPU, faiss on a CPU or plain torch: one function chooses."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch

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


def kmeans(
    vectors: torch.Tensor,
    clusters: int,
    *,
    seed: int = 0,
    restarts: int = 1,
    iterations: int = 20,
    engine: str = "auto",
) -> Clusters:
    """Cluster rows by Euclidean k-means; of several restarts, the one of least inertia.

    Args:
        vectors: float32 [N, D].
        clusters: K, at most N.
        seed: the first centers are K rows drawn by it; the same seed gives the same clustering.
        restarts: further draws of first centers come from the same seed.
        iterations: of Lloyd's algorithm, or fewer once no center moves.
        engine: who finds the nearest centers: "faiss" (on a GPU if the vectors are there and
            faiss-gpu is installed), "torch", or "auto": faiss, except for vectors on a GPU that
            faiss cannot use. The results are the same but for distances equal to rounding.

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
    search = _choose(engine, vectors)
    generator = np.random.default_rng(seed)
    found = None
    for _ in range(restarts):
        first = np.sort(generator.choice(len(vectors), clusters, replace=False))
        centers = vectors[torch.from_numpy(first).to(vectors.device)]
        one = _lloyd(vectors, centers, iterations, search)
        if found is None or one.inertia < found.inertia:
            found = one
    return found


# The nearest of some centers to each row, int64 [N], and the squared distance to it, [N].
Search = Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]


def _choose(engine: str, vectors: torch.Tensor) -> Search:
    if engine == "torch":
        return _nearest_by_torch
    import faiss

    if vectors.is_cuda:
        on_gpu = hasattr(faiss, "StandardGpuResources")
        return _nearest_by_faiss if on_gpu or engine == "faiss" else _nearest_by_torch
    return _nearest_by_faiss


def _lloyd(vectors: torch.Tensor, centers, iterations: int, search: Search) -> Clusters:
    """Lloyd's algorithm, looking only at pairs whose distance can have changed.

    A row whose own center stayed compares its old distance with the centers that moved. With few
    rows a cluster most centers soon stay, and an iteration costs a fraction of all pairs.
    """
    assignment, distance = search(vectors, centers)
    for _ in range(iterations):
        before, centers = centers, _means(vectors, assignment, centers)
        changed = (before != centers).any(1)
        if not changed.any():
            break
        if changed.all():
            assignment, distance = search(vectors, centers)
            continue
        lost = changed[assignment].nonzero().flatten()
        kept = (~changed[assignment]).nonzero().flatten()
        changed = changed.nonzero().flatten()
        if len(lost):
            assignment[lost], distance[lost] = search(vectors[lost], centers)
        if len(kept):
            challenger, nearer = search(vectors[kept], centers[changed])
            won = nearer < distance[kept]
            assignment[kept[won]], distance[kept[won]] = changed[challenger[won]], nearer[won]
    return Clusters(assignment.cpu().numpy(), float(distance.double().sum()))


def _nearest_by_faiss(vectors: torch.Tensor, centers: torch.Tensor):
    import faiss

    index = faiss.IndexFlatL2(centers.shape[1])
    if vectors.is_cuda and hasattr(faiss, "StandardGpuResources"):
        device = vectors.device.index or 0
        index = faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), device, index)
    index.add(centers.float().cpu().numpy())
    distance, nearest = index.search(vectors.float().cpu().numpy(), 1)
    return tuple(torch.from_numpy(part[:, 0]).to(vectors.device) for part in (nearest, distance))


def _nearest_by_torch(vectors: torch.Tensor, centers: torch.Tensor):
    half = centers.square().sum(1) / 2
    nearest, distance = [], []
    for some in vectors.split(max(1, (1 << 22) // len(centers))):
        nearness, place = torch.addmm(-half, some, centers.T).max(1)
        nearest.append(place)
        distance.append((some.square().sum(1) - 2 * nearness).clamp_(min=0))
    return torch.cat(nearest), torch.cat(distance)


def _means(vectors, assignment, centers: torch.Tensor) -> torch.Tensor:
    """The mean of each cluster; half of the largest one splits off for each empty one."""
    count = torch.bincount(assignment, minlength=len(centers))
    means = _sums(vectors, assignment, count) / count.clamp(min=1)[:, None]
    empty = (count == 0).nonzero().flatten()
    if len(empty):
        largest = count.argsort(descending=True, stable=True)[: len(empty)]
        shift = (
            1
            + torch.tensor([1, -1], device=means.device).repeat(means.shape[1])[: means.shape[1]]
            / 1024
        )
        means[empty] = means[largest] * shift
        means[largest] = means[largest] * (2 - shift)
    return means


def _sums(vectors: torch.Tensor, assignment: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    """The sum of each cluster, always in the order of the rows.

    A cluster that keeps its rows thereby keeps its center bit by bit.
    """
    if not vectors.is_cuda:
        return vectors.new_zeros(len(count), vectors.shape[1]).index_add_(0, assignment, vectors)
    # There, index_add_ sums in any order.
    order = assignment.argsort(stable=True)
    return torch.segment_reduce(vectors[order], "sum", lengths=count, axis=0, initial=0.0)
