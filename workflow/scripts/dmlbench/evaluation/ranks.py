"""Ranks of every query's positives."""

import numpy as np
import torch

from dmlbench.evaluation.retrieval import Ranks

GRID = 2.0**24


def find_ranks(queries, query_class, gallery, gallery_class, *, own: bool, rows: int = 512):
    """Ranks of the positives of each query that has any, by sorting exact similarities."""
    gallery64 = gallery.double().T
    size = np.bincount(gallery_class, minlength=query_class.max() + 1)[query_class]
    scored = np.flatnonzero(size - own > 0)
    found, counts = [], []
    for begin in range(0, len(scored), rows):
        block = scored[begin : begin + rows]
        similarity = (queries[torch.from_numpy(block)].double() @ gallery64).numpy()
        if own:
            similarity[np.arange(len(block)), block] = np.inf
        order = np.argsort(-similarity, axis=1, kind="stable")[:, own:]
        same = gallery_class[order] == query_class[block][:, None]
        found.append(np.nonzero(same)[1] + 1)
        counts.append(same.sum(1))
    counts = np.concatenate(counts) if counts else np.zeros(0, np.int64)
    start = np.concatenate([[0], np.cumsum(counts)])
    return Ranks(
        np.concatenate(found) if found else np.zeros(0, np.int64), start, size[scored]
    ), scored


def on_grid(embeddings) -> torch.Tensor:
    """Normalised embeddings, rounded to multiples of 2^-24."""
    unit = torch.nn.functional.normalize(torch.as_tensor(embeddings).double(), dim=1)
    return (torch.round(unit * GRID) / GRID).float()
