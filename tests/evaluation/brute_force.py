"""Retrieval by sorting in exact integer arithmetic, one query at a time: the oracle."""

import numpy as np


def whole_numbers(rows, distance, longest=None):
    """Embeddings as the definition has them, in units of 2^-24, as Python integers."""
    rows = np.asarray(rows, np.float64)
    if distance == "cosine":
        norm = np.sqrt((rows**2).sum(1, keepdims=True))
        rows = rows / np.where(norm > 0, norm, 1)
    elif longest > 0:
        rows = rows * 2.0 ** -np.ceil(np.log2(longest))
    return np.rint(rows * 2**24).astype(np.int64).astype(object)


def neighbors(
    queries,
    query_labels,
    gallery=None,
    gallery_labels=None,
    ids=None,
    distance="cosine",
    positives_first=None,
    query_ids=None,
):
    """For each query with a positive: its row, its class size and which neighbors are positive.

    Exact ties are broken by id, or for (True) or against (False) the positives. Gallery images with
    the id of the query, if query_ids are given, are not its neighbors.
    """
    own = gallery is None
    gallery = queries if own else gallery
    gallery_labels = np.asarray(query_labels if own else gallery_labels)
    longest = max(
        np.sqrt((np.asarray(x, np.float64) ** 2).sum(1)).max() for x in (queries, gallery)
    )
    q, g = (whole_numbers(x, distance, longest) for x in (queries, gallery))
    ids = np.arange(len(g)) if ids is None else np.asarray(ids)
    for row in range(len(q)):
        nearness = 2 * (g * q[row]).sum(1)
        if distance == "euclidean":
            nearness = nearness - (g * g).sum(1)
        tie = ids
        if positives_first is not None:
            tie = (gallery_labels == query_labels[row]) != positives_first
        order = sorted(range(len(g)), key=lambda j: (-nearness[j], tie[j]))
        if own:
            order.remove(row)
        if query_ids is not None:
            order = [other for other in order if ids[other] != query_ids[row]]
        hits = gallery_labels[order] == query_labels[row]
        if hits.any():
            yield row, int((gallery_labels == query_labels[row]).sum()), hits


def metric(name, size, hits):
    """One query's score, spelled out."""
    positives = int(hits.sum())
    if name.startswith("recall_at_"):
        return float(hits[: int(name[10:])].any())
    if name.startswith("precision_at_"):
        k = int(name[13:])
        return hits[:k].sum() / k
    if name == "mrr":
        return 1 / (1 + int(np.argmax(hits)))
    if name == "r_precision":
        return hits[:positives].sum() / positives
    if name == "map_at_r_eq_2_35":
        return hits[:positives].sum() / positives * hits[positives - 1]
    if name == "map_at_c_eq_29":
        return hits[:size].sum() / size
    if name == "map_at_1000_eq_30":
        return hits[:1000].sum() / 1000
    cut, divisor = {
        "map_at_r": (positives, positives),
        "map_at_c": (size, size),
        "map_at_1000": (1000, size),
    }[name]
    total = 0.0
    for place in range(min(cut, len(hits))):
        if hits[place]:
            total += hits[: place + 1].sum() / (place + 1)
    return total / divisor


METRICS = [
    "recall_at_1",
    "recall_at_2",
    "recall_at_10",
    "recall_at_1000",
    "precision_at_1",
    "precision_at_4",
    "precision_at_1000",
    "mrr",
    "r_precision",
    "map_at_r",
    "map_at_r_eq_2_35",
    "map_at_c",
    "map_at_c_eq_29",
    "map_at_1000",
    "map_at_1000_eq_30",
]


def scores(*arguments, metrics=METRICS, **keywords):
    """Mean over the queries that have a positive."""
    found = list(neighbors(*arguments, **keywords))
    return {
        name: float(np.mean([metric(name, size, hits) for _, size, hits in found]))
        for name in metrics
    }
