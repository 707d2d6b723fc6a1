"""Score an embedding space: retrieval, clustering and structure by one call."""

import functools
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dmlbench.errors import UserError
from dmlbench.evaluation.checks import array_or_tensor, check_device, check_memory, check_seeds
from dmlbench.evaluation.clustering import cluster_scores
from dmlbench.evaluation.inputs import (
    GRID,
    Space,
    about_mean,
    count_copies,
    read_space,
    typical_distance,
)
from dmlbench.evaluation.names import KINDS, check_metrics, kind
from dmlbench.evaluation.ranks import find_ranks
from dmlbench.evaluation.retrieval import per_query
from dmlbench.evaluation.structure import structure_scores

# Rows typically closer together than this lose ranks on the grid: the norms of its unit vectors
# differ by 2^-25, and the cosines of rows d apart by d^2 / 2.
_CLOSE = 2.0**-7
# Where two rows are fewer of their rounding errors apart, ranks of one query in fifty change.
_RESOLVED = 256


class Evaluation(NamedTuple):
    """Scores and the values behind them.

    Attributes:
        scores: {metric: value}; retrieval and clustering are fractions in [0, 1].
        per_query: {retrieval metric: float64 [Q]}, for intervals over queries or classes.
        row: int64 [Q]; the row of each scored query.
        left_out: number of queries without a positive, which no retrieval metric counts.
        per_seed: {clustering metric: float64 [seeds]}; the score is their mean.
        tied: {retrieval metric: (lowest, highest)} for each score that depends on how exact
            ties between a positive and a negative are broken.
        copies: number of queries that find an exact copy in the gallery, as no ids tell them apart.
        unresolved: (typical distance between two embeddings, distance that ranks resolve), both as
            shares of the largest norm, if the first is the smaller one; otherwise None.
    """

    scores: dict[str, float]
    per_query: dict[str, np.ndarray]
    row: np.ndarray
    left_out: int
    per_seed: dict[str, np.ndarray]
    tied: dict[str, tuple[float, float]]
    copies: int = 0
    unresolved: tuple[float, float] | None = None


def score(embeddings, labels, *, metrics, **options) -> dict[str, float]:
    """Score an embedding space; for arguments, errors and meaning see `evaluate`.

    A warning names the number of queries without a positive or with a copy in the gallery, scores
    that depend on the order of exact ties, and embeddings that differ too much in length for ranks.

    Returns:
        {metric: value} in the order of `metrics`; retrieval and clustering are fractions.
    """
    result = evaluate(embeddings, labels, metrics=metrics, **options)
    for caveat in caveats(result):
        warnings.warn(caveat, stacklevel=2)
    return result.scores


def caveats(result: Evaluation) -> list[str]:
    """What a reader of the scores must know: queries left out, scores that depend on exact ties."""
    notes = []
    if result.left_out:
        notes.append(
            f"{result.left_out} of {result.left_out + len(result.row)} queries have no other "
            "image of their class to find and are left out"
        )
    if result.copies:
        notes.append(
            f"{result.copies} of {result.left_out + len(result.row)} queries find an exact copy of "
            "themselves in the gallery; given ids and gallery_ids, equal ids are left out"
        )
    if result.unresolved:
        typical, resolved = result.unresolved
        notes.append(
            f"two embeddings are typically {typical:.1e} of the largest norm apart, and ranks "
            f"resolve distances from {resolved:.1e} of it: scores may be wrong; leave out rows "
            "that are far longer than the others"
        )
    for name, (lowest, highest) in result.tied.items():
        notes.append(
            f"{name} is {result.scores[name]:.6g} with exact ties broken by image id; other "
            f"orders give {lowest:.6g} to {highest:.6g}"
        )
    return notes


def evaluate(
    embeddings,
    labels,
    *,
    metrics,
    gallery=None,
    gallery_labels=None,
    ids=None,
    gallery_ids=None,
    distance: str = "cosine",
    seeds=(0,),
    restarts: int = 1,
    device=None,
    memory: float | None = None,
) -> Evaluation:
    """Score an embedding space.

    Retrieval ranks the gallery for each query; clustering and structure look at the embeddings
    alone, normalized for "cosine".

    Args:
        embeddings: [N, D] array or tensor of real numbers; the queries. Scaling all by a power
            of two changes no score, however large or small they become.
        labels: class of each row, [N]: numbers or strings, none missing.
        metrics: a list of names, see `metric_names()`.
        gallery: [M, D], the images to search (In-Shop); by default the embeddings themselves. A
            query is not its own neighbor: gallery images with its id are left out.
        gallery_labels: class of each gallery row, [M].
        ids: image ids [N]; at exactly equal distance the lower id is nearer. By default the row
            number.
        gallery_ids: image ids of the gallery rows, [M].
        distance: "cosine" normalizes each row, after which cosine and Euclidean distance rank
            alike; "euclidean" takes rows as they are.
        seeds: of k-means, at least one whole number; a clustering metric is the mean over them.
        restarts: of k-means for each seed, of which the one of least inertia counts.
        device: where to rank and to cluster; by default the GPU of the embeddings, or the CPU.
        memory: bytes of working memory, beyond the embeddings and one float32 copy of them; by
            default 1 GiB, or 4 GiB on a GPU.

    Raises:
        UserError: unknown metrics; shapes or types that do not fit; rows that are not finite;
            missing labels; an id with two labels; no seed; a device that torch lacks; no query
            with a positive.
    """
    metrics = check_metrics(metrics)
    seeds, device = check_seeds(seeds), check_device(device, embeddings)
    memory = check_memory(memory, device)
    embeddings = array_or_tensor(embeddings, "embeddings")
    gallery = None if gallery is None else array_or_tensor(gallery, "gallery")
    read = functools.partial(
        read_space, labels=labels, gallery_labels=gallery_labels, ids=ids, gallery_ids=gallery_ids
    )
    space = read(embeddings, gallery=gallery, distance=distance)
    of_kind = {some: [name for name in metrics if kind(name) == some] for some in KINDS}
    result = Evaluation({}, {}, np.zeros(0, np.int64), 0, {}, {})
    if of_kind["retrieval"]:
        ranked, unresolved = _apart(space, embeddings, gallery, read)
        copies = 0
        if gallery is not None and (ids is None or gallery_ids is None):
            copies = count_copies(embeddings, gallery)
        result = _retrieve(ranked, of_kind["retrieval"], memory, device)
        result = result._replace(copies=copies, unresolved=unresolved)
    vectors, classes = space.queries.vectors, space.queries.classes
    per_seed = cluster_scores(
        vectors, classes, of_kind["clustering"], seeds=seeds, restarts=restarts, device=device
    )
    scores = result.scores | {name: float(values.mean()) for name, values in per_seed.items()}
    scores |= structure_scores(vectors, classes, of_kind["structure"])
    return result._replace(scores={name: scores[name] for name in metrics}, per_seed=per_seed)


def _apart(space: Space, rows, gallery, read: Callable[..., Space]):
    """The space for ranking, about the mean of rows that are close together; what is unresolved."""
    typical = typical_distance(rows, space)
    if 0 < typical < _CLOSE:
        rows, gallery = about_mean(rows, gallery, space)
        space = read(rows, gallery=gallery, distance="euclidean")
        typical = typical_distance(rows, space) or typical
    # Rounding each entry of two rows changes their distance by about this.
    rounding = (rows.shape[1] / 6) ** 0.5 / GRID
    resolved = _RESOLVED * rounding
    return space, (typical, resolved) if 0 < typical < resolved else None


def _retrieve(space: Space, metrics: list[str], memory: int, device) -> Evaluation:
    ranking = find_ranks(space, metrics, memory=memory, device=device)
    if len(ranking.row) == 0:
        raise UserError("no query has another image of its class to find; allowed: at least 1")
    values = {name: per_query(name, ranking.ranks) for name in metrics}
    scores = {name: float(some.mean()) for name, some in values.items()}
    tied = {}
    if ranking.best is not None:
        for name in metrics:
            bounds = [float(per_query(name, some).mean()) for some in (ranking.worst, ranking.best)]
            if any(bound != scores[name] for bound in bounds):
                tied[name] = (min(*bounds, scores[name]), max(*bounds, scores[name]))
    left_out = len(space.queries.vectors) - len(ranking.row)
    return Evaluation(scores, values, ranking.row, left_out, {}, tied)
