"""Rows to cluster, in main memory; faiss searches them."""

import numpy as np
from scipy.sparse import csr_array

from dmlbench.evaluation._faiss import faiss


class FaissPoints:
    """`dmlbench.evaluation.kmeans.Points` by faiss, on a GPU where it can use the device.

    Args:
        vectors: [N, D]; searched in float32.
        device: "cpu" or a GPU's name.
    """

    def __init__(self, vectors: np.ndarray, device="cpu"):
        self._vectors = np.ascontiguousarray(vectors, np.float32)
        self._gpu = _resources(device)

    def nearest(self, centers: np.ndarray, rows=slice(None)) -> tuple[np.ndarray, np.ndarray]:
        index = faiss.IndexFlatL2(centers.shape[1])
        if self._gpu:
            index = faiss.index_cpu_to_gpu(*self._gpu, index)
        index.add(centers)
        distance, nearest = index.search(self._vectors[rows], 1)
        return nearest[:, 0], distance[:, 0]

    def sums(self, assignment: np.ndarray, clusters: int) -> np.ndarray:
        rows = len(assignment)
        ones, members = np.ones(rows, np.float32), np.arange(rows)
        return csr_array((ones, (assignment, members)), shape=(clusters, rows)) @ self._vectors


def can_use(device) -> bool:
    """Whether this faiss searches on a device: any does on a CPU, faiss-gpu on a GPU."""
    return not _is_gpu(device) or hasattr(faiss, "StandardGpuResources")


def _resources(device):
    """What faiss needs of a GPU, and its number; None where it searches on the CPU."""
    if not _is_gpu(device) or not can_use(device):
        return None
    _, _, number = str(device).partition(":")
    return faiss.StandardGpuResources(), int(number or 0)


def _is_gpu(device) -> bool:
    return str(device).startswith("cuda")
