"""Rows to cluster, as tensors on a device."""

import numpy as np
import torch

from dmlbench.evaluation.products import full_precision


class TorchPoints:
    """`dmlbench.evaluation.kmeans.Points` by torch, for GPUs that faiss cannot use.

    Args:
        vectors: [N, D]; searched in their own precision.
        device: where to search.
    """

    def __init__(self, vectors: np.ndarray, device="cpu"):
        self._vectors = torch.from_numpy(vectors).to(device)

    def nearest(self, centers: np.ndarray, rows=slice(None)) -> tuple[np.ndarray, np.ndarray]:
        centers = self._there(centers)
        half = centers.square().sum(1) / 2
        vectors = self._vectors[rows if isinstance(rows, slice) else self._there(rows)]
        nearest, distance = [], []
        # Training may have set TF32 for its network.
        with full_precision():
            for some in vectors.split(max(1, (1 << 22) // len(centers))):
                nearness, place = torch.addmm(-half, some, centers.T).max(1)
                nearest.append(place)
                distance.append((some.square().sum(1) - 2 * nearness).clamp_(min=0))
        return tuple(torch.cat(parts).cpu().numpy() for parts in (nearest, distance))

    def sums(self, assignment: np.ndarray, clusters: int) -> np.ndarray:
        assignment = self._there(assignment)
        if not self._vectors.is_cuda:
            sums = self._vectors.new_zeros(clusters, self._vectors.shape[1])
            return sums.index_add_(0, assignment, self._vectors).numpy()
        # On a GPU the order in which index_add_ sums varies.
        order = assignment.argsort(stable=True)
        count = torch.bincount(assignment, minlength=clusters)
        sums = torch.segment_reduce(self._vectors[order], "sum", lengths=count, axis=0, initial=0.0)
        return sums.cpu().numpy()

    def _there(self, values: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(values).to(self._vectors.device)
