"""Queries and their positives, with exact similarities."""

from typing import NamedTuple

import torch

from dmlbench.evaluation.inputs import Space


class Pairs(NamedTuple):
    """The positives of a run of queries, nearest first, equally near ones by age.

    Attributes:
        start: int64 [Q + 1]; positives of query i are entries start[i] to start[i + 1].
        similarity: float64 [P], exact.
        column: int64 [P]; the positive's place in the gallery.
    """

    start: torch.Tensor
    similarity: torch.Tensor
    column: torch.Tensor


def similarity(queries: torch.Tensor, gallery: torch.Tensor, distance: str) -> torch.Tensor:
    """Exact similarities of [..., Q, D] and [..., M, D] vectors on the grid, float64 [..., Q, M].

    Cosine: the inner product. Euclidean: <q, g> - |g|^2 / 2, which falls as |q - g| grows.
    """
    queries, gallery = queries.double(), gallery.double()
    product = queries @ gallery.mT
    if distance == "euclidean":
        product -= gallery.square().sum(-1)[..., None, :] / 2
    return product


def class_runs(space: Space) -> tuple[torch.Tensor, torch.Tensor]:
    """For each query, where its class begins and ends in the gallery, int64 [Q] each."""
    classes = space.gallery.classes
    wanted = space.queries.classes
    return torch.searchsorted(classes, wanted), torch.searchsorted(classes, wanted, right=True)


def find_pairs(space: Space, begin: int, end: int, memory: int) -> Pairs:
    """Positives of the queries from `begin` to `end` (in the order of their Side)."""
    first, last = (run[begin:end] for run in class_runs(space))
    count = last - first - int(space.own)
    start = torch.nn.functional.pad(count.cumsum(0), (1, 0))
    total = int(start[-1])
    device = space.gallery.vectors.device
    values = torch.empty(total, dtype=torch.float64, device=device)
    columns = torch.empty(total, dtype=torch.int64, device=device)
    for rows, width in _alike(space.queries.classes[begin:end], first, last, space, memory):
        gallery = first[rows[:, 0], None] + torch.arange(width, device=device)
        found = similarity(
            space.queries.vectors[begin + rows], space.gallery.vectors[gallery], space.distance
        )
        if space.own:
            found[gallery[:, None, :] == begin + rows[:, :, None]] = torch.inf
        found, order = found.sort(dim=-1, descending=True, stable=True)
        found, order = found[..., int(space.own) :], order[..., int(space.own) :]
        place = start[rows][..., None] + torch.arange(found.shape[-1], device=device)
        values[place] = found
        columns[place] = first[rows][..., None] + order
    return Pairs(start, values, columns)


def _alike(classes, first, last, space: Space, memory: int):
    """Batches of equally large groups of queries of one class: ([G, q] rows, gallery width)."""
    rows = len(first)
    dim = space.gallery.vectors.shape[1]
    _, group, size = torch.unique_consecutive(classes, return_inverse=True, return_counts=True)
    widest = int((last - first).max()) if rows else 1
    step = max(1, memory // (64 * max(widest, dim)))
    place = torch.arange(rows, device=first.device) - (size.cumsum(0) - size)[group]
    cut = torch.nonzero(place % step == 0).flatten()
    length = torch.diff(cut, append=torch.tensor([rows], device=cut.device))
    width = (last - first)[cut]
    useful = width > int(space.own)
    for q, m in torch.unique(torch.stack([length, width], 1)[useful], dim=0).tolist():
        begins = cut[useful & (length == q) & (width == m)]
        for some in begins.split(max(1, memory // (64 * (q + m) * max(m, dim)))):
            yield some[:, None] + torch.arange(q, device=cut.device), m
