"""Metrics of an embedding space. Importing this loads neither torch nor NumPy."""

from dmlbench.evaluation.names import check_metric, metric_names

__all__ = ["check_metric", "metric_names", "score"]


def score(embeddings, labels, *, metrics, gallery=None, gallery_labels=None) -> dict[str, float]:
    """Score an embedding space.

    Args:
        embeddings: [N, D] array or tensor; rows are L2-normalised here.
        labels: class of each row, [N].
        metrics: names, see `metric_names()`.
        gallery: [M, D] images to search; by default the embeddings themselves, where a query is
            no neighbour of itself.
        gallery_labels: class of each gallery row, [M].

    Returns:
        {metric: fraction in [0, 1]}; queries without a positive are left out.
    """
    import numpy as np

    from dmlbench.evaluation.ranks import find_ranks, on_grid
    from dmlbench.evaluation.retrieval import per_query

    for name in metrics:
        check_metric(name)
    own = gallery is None
    labels = np.asarray(labels)
    gallery_labels = labels if own else np.asarray(gallery_labels)
    _, codes = np.unique(np.concatenate([labels, gallery_labels]), return_inverse=True)
    queries = on_grid(embeddings)
    ranks, _ = find_ranks(
        queries,
        codes[: len(labels)],
        queries if own else on_grid(gallery),
        codes[len(labels) :],
        own=own,
    )
    return {name: float(np.mean(per_query(name, ranks))) for name in metrics}
