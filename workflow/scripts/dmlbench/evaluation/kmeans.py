"""k-means by faiss on a GPU, faiss on a CPU or plain torch: one function chooses."""

from typing import NamedTuple

import numpy as np
import torch

from dmlbench.errors import UserError

ENGINES = ("auto", "faiss", "torch")


class Clusters(NamedTuple):
    """A clustering.

    Attributes:
        assignment: int64 [N]; cluster of each row, in [0, K).
        inertia: sum of squared distances from rows to their cluster centres.
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
        seed: the same seed gives the same clustering with the same engine. The first centres are
            K rows drawn by it, the same rows whatever the engine.
        restarts: further draws of first centres come from the same seed.
        iterations: of Lloyd's algorithm, or fewer once no row changes its cluster (torch).
        engine: "faiss" (on a GPU where the vectors are on one and faiss-gpu is installed),
            "torch", or "auto": torch for vectors on a GPU that faiss cannot use, else faiss.

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
    run = _choose(engine, vectors)
    generator = np.random.default_rng(seed)
    found = None
    for _ in range(restarts):
        first = np.sort(generator.choice(len(vectors), clusters, replace=False))
        one = run(vectors, torch.from_numpy(first), iterations)
        if found is None or one.inertia < found.inertia:
            found = one
    return found


def _choose(engine: str, vectors: torch.Tensor):
    if engine == "torch":
        return _torch
    import faiss

    faiss_can = not vectors.is_cuda or hasattr(faiss, "StandardGpuResources")
    return _faiss if engine == "faiss" or faiss_can else _torch


def _faiss(vectors: torch.Tensor, first: torch.Tensor, iterations: int) -> Clusters:
    import faiss

    rows = vectors.cpu().numpy()
    centres = rows[first.numpy()]
    options = faiss.ClusteringParameters()
    options.niter = iterations
    # Never subsample, never complain about small clusters: classes are small here.
    options.max_points_per_centroid = len(rows)
    options.min_points_per_centroid = 1
    index = faiss.IndexFlatL2(rows.shape[1])
    if vectors.is_cuda and hasattr(faiss, "StandardGpuResources"):
        index = faiss.index_cpu_to_gpu(
            faiss.StandardGpuResources(), vectors.device.index or 0, index
        )
    clustering = faiss.Clustering(rows.shape[1], len(first), options)
    faiss.copy_array_to_vector(centres.ravel(), clustering.centroids)
    clustering.train(rows, index)
    distance, assignment = index.search(rows, 1)
    return Clusters(assignment[:, 0], float(distance.sum(dtype=np.float64)))


def _torch(vectors: torch.Tensor, first: torch.Tensor, iterations: int) -> Clusters:
    """Lloyd's algorithm, looking only at pairs whose distance can have changed.

    A row whose own centre stayed compares its old distance with the centres that moved. With few
    rows a cluster most centres soon stay, and an iteration costs a fraction of all pairs.
    """
    centres = vectors[first.to(vectors.device)].clone()
    assignment, nearness = _nearest(vectors, centres)
    for _ in range(iterations):
        means = _means(vectors, assignment, centres)
        moved = (means != centres).any(1)
        centres = means
        if not moved.any():
            break
        before = assignment
        lost = moved[assignment]
        assignment, nearness = assignment.clone(), nearness.clone()
        assignment[lost], nearness[lost] = _nearest(vectors[lost], centres)
        kept, moved = (~lost).nonzero().flatten(), moved.nonzero().flatten()
        challenger, better = _nearest(vectors[kept], centres[moved])
        won = better > nearness[kept]
        assignment[kept[won]], nearness[kept[won]] = moved[challenger[won]], better[won]
        if torch.equal(before, assignment):
            break
    inertia = (vectors.double().square().sum(1) - 2 * nearness.double()).sum()
    return Clusters(assignment.cpu().numpy(), float(inertia))


def _nearest(vectors: torch.Tensor, centres: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The nearest centre c of each row x, int64 [N], and <x, c> - |c|^2 / 2, float32 [N]."""
    half = centres.square().sum(1) / 2
    nearest = torch.empty(len(vectors), dtype=torch.int64, device=vectors.device)
    nearness = torch.empty(len(vectors), dtype=vectors.dtype, device=vectors.device)
    step = max(1, (1 << 22) // max(1, len(centres)))
    for begin in range(0, len(vectors), step):
        some = slice(begin, begin + step)
        torch.max(
            torch.addmm(-half, vectors[some], centres.T), 1, out=(nearness[some], nearest[some])
        )
    return nearest, nearness


def _means(vectors, assignment, centres: torch.Tensor) -> torch.Tensor:
    """The mean of each cluster; half of the largest one splits off for each empty one."""
    count = torch.bincount(assignment, minlength=len(centres))
    # Summed in one order, so that a cluster that keeps its rows keeps its centre bit by bit.
    order = assignment.argsort(stable=True)
    means = torch.segment_reduce(vectors[order], "mean", lengths=count, axis=0, initial=0.0)
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
