"""Agreement of a clustering with the classes."""

from typing import NamedTuple

import numpy as np

from dmlbench.evaluation.kmeans import kmeans


class Contingency(NamedTuple):
    """How rows are distributed among classes and clusters.

    Attributes:
        both: int64; rows of each class-cluster pair that has any.
        of_class, of_cluster: int64 [pairs]; sizes of that class and of that cluster.
        classes, clusters: int64; sizes of all classes and of all clusters.
    """

    both: np.ndarray
    of_class: np.ndarray
    of_cluster: np.ndarray
    classes: np.ndarray
    clusters: np.ndarray


def contingency(labels: np.ndarray, assignment: np.ndarray) -> Contingency:
    """Count the rows of every class, cluster, and pair of them that occurs."""
    _, row_class, classes = np.unique(labels, return_inverse=True, return_counts=True)
    _, row_cluster, clusters = np.unique(assignment, return_inverse=True, return_counts=True)
    pair, both = np.unique(row_class * len(clusters) + row_cluster, return_counts=True)
    return Contingency(
        both, classes[pair // len(clusters)], clusters[pair % len(clusters)], classes, clusters
    )


def nmi(table: Contingency) -> float:
    """Normalized mutual information 2 I / (H_classes + H_clusters), in [0, 1].

    roth2020 eq. 27 as printed, I / (2 (H + H)), could not exceed 0.25; musgrave2020 eq. 7 has
    this form. One class in one cluster scores 1.
    """
    entropies = _entropy(table.classes) + _entropy(table.clusters)
    return _clipped(2 * _information(table) / entropies) if entropies > 0 else 1.0


def ami(table: Contingency) -> float:
    """Mutual information adjusted for chance, (I - E) / ((H + H) / 2 - E), at most 1.

    E is the mean of I over all assignments of the rows to clusters of these sizes.
    """
    expected = _expected_information(table.classes, table.clusters)
    mean_entropy = (_entropy(table.classes) + _entropy(table.clusters)) / 2
    largest = mean_entropy - expected
    if abs(largest) <= 1e-12 * max(1.0, mean_entropy):
        return 1.0
    return (_information(table) - expected) / largest


def f1(table: Contingency) -> float:
    """Harmonic mean of precision and recall over pairs of rows in one cluster, in [0, 1].

    roth2020 eq. 28 and Song et al. 2016: of the pairs in one cluster those of one class
    (precision), of the pairs of one class those in one cluster (recall).
    """
    together = _pairs(table.both)
    candidates = _pairs(table.clusters) + _pairs(table.classes)
    return 2 * together / candidates if candidates else 1.0


AGREEMENT = {"ami": ami, "f1": f1, "nmi": nmi}


def cluster_scores(
    vectors: np.ndarray,
    labels: np.ndarray,
    metrics: list[str],
    *,
    seeds: tuple[int, ...] = (0,),
    restarts: int = 1,
    device="cpu",
) -> dict[str, np.ndarray]:
    """Cluster into as many clusters as there are classes, once per seed, and score each clustering.

    Returns:
        {metric: float64 [seeds]}; their mean and standard deviation are the score and its spread.
    """
    if not metrics:
        return {}
    classes = len(np.unique(labels))
    clusterings = (
        kmeans(vectors, classes, seed=seed, restarts=restarts, device=device) for seed in seeds
    )
    tables = [contingency(labels, one.assignment) for one in clusterings]
    return {name: np.array([AGREEMENT[name](table) for table in tables]) for name in metrics}


def _pairs(sizes: np.ndarray) -> int:
    return int((sizes * (sizes - 1) // 2).sum())


def _entropy(sizes: np.ndarray) -> float:
    share = sizes / sizes.sum()
    return max(0.0, float(-(share * np.log(share)).sum()))


def _information(table: Contingency) -> float:
    total = table.both.sum()
    ratio = np.log(table.both * (total / table.of_class) / table.of_cluster)
    return max(0.0, float((table.both / total * ratio).sum()))


def _expected_information(classes: np.ndarray, clusters: np.ndarray) -> float:
    """Mean information under the hypergeometric model, one term per pair of distinct sizes."""
    # Imported here, because loading it takes longer than computing any other score.
    from scipy.special import gammaln

    total = int(classes.sum())
    class_size, class_count = np.unique(classes, return_counts=True)
    cluster_size, cluster_count = np.unique(clusters, return_counts=True)
    expected = 0.0
    for a, a_count in zip(class_size.tolist(), class_count.tolist(), strict=True):
        # All overlaps n of a class of size a with each cluster size b, side by side.
        least = np.maximum(1, a + cluster_size - total)
        steps = np.minimum(a, cluster_size) - least + 1
        b = np.repeat(cluster_size, steps)
        n = np.arange(len(b)) - np.repeat(np.cumsum(steps) - steps, steps) + np.repeat(least, steps)
        log_probability = (
            gammaln(a + 1) + gammaln(b + 1) + gammaln(total - a + 1) + gammaln(total - b + 1)
            - gammaln(total + 1) - gammaln(n + 1) - gammaln(a - n + 1) - gammaln(b - n + 1)
            - gammaln(total - a - b + n + 1)
        )  # fmt: skip
        term = n / total * np.log(n * (total / a) / b) * np.exp(log_probability)
        expected += a_count * float((term * np.repeat(cluster_count, steps)).sum())
    return expected


def _clipped(value: float) -> float:
    return min(1.0, max(0.0, value))
