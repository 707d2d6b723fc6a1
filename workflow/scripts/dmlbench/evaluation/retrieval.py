"""Retrieval metrics, each a function of the ranks of a query's positives alone."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dmlbench.evaluation.names import split_at_k

FAR = np.iinfo(np.int64).max


class Ranks(NamedTuple):
    """Ranks of each query's positives in the gallery, nearest first, counted from 1.

    Attributes:
        rank: int64 [P]; ranks of all positives, query after query, ascending within a query.
            FAR replaces ranks beyond those that the requested metrics use.
        start: int64 [Q + 1]; positives of the i-th scored query are rank[start[i]:start[i + 1]].
        class_size: int64 [Q]; images of the query's class in the gallery, including the query if it
            is there.
    """

    rank: np.ndarray
    start: np.ndarray
    class_size: np.ndarray

    @property
    def positives(self) -> np.ndarray:
        """Number R of positives of each query, int64 [Q]."""
        return np.diff(self.start)

    @property
    def first(self) -> np.ndarray:
        """Rank of each query's nearest positive, int64 [Q]."""
        return self.rank[self.start[:-1]]

    def hits(self, cut: np.ndarray | int) -> np.ndarray:
        """Number of positives among the `cut` nearest of each query, int64 [Q]."""
        inside = self.rank <= self._spread(cut)
        return np.add.reduceat(inside, self.start[:-1], dtype=np.int64)

    def summed_precision(self, cut: np.ndarray | int) -> np.ndarray:
        """Sum of the precision at each positive among the `cut` nearest, float64 [Q]."""
        order = np.arange(1, len(self.rank) + 1) - np.repeat(self.start[:-1], self.positives)
        precision = np.where(self.rank <= self._spread(cut), order / self.rank, 0.0)
        return np.add.reduceat(precision, self.start[:-1])

    def _spread(self, cut: np.ndarray | int) -> np.ndarray | int:
        return np.repeat(cut, self.positives) if isinstance(cut, np.ndarray) else cut


def recall_at(k: int, ranks: Ranks) -> np.ndarray:
    """1 where one of the k nearest images is a positive, else 0 (psomas2020; roth2020 eq. 26)."""
    return (ranks.first <= k).astype(np.float64)


def precision_at(k: int, ranks: Ranks) -> np.ndarray:
    """Share of positives among the k nearest images (karaman2021 eq. 2.31).

    It cannot exceed R / k where a query has R < k positives.
    """
    return ranks.hits(k) / k


def r_precision(ranks: Ranks) -> np.ndarray:
    """Share of positives among the R nearest images, R the number of positives (musgrave2020).

    1 if all positives come first.
    """
    return ranks.hits(ranks.positives) / ranks.positives


def map_at_r(ranks: Ranks) -> np.ndarray:
    """Precision at each positive among the R nearest, summed and divided by R (musgrave2020).

    It never exceeds `r_precision`; 1 if all positives come first.
    """
    return ranks.summed_precision(ranks.positives) / ranks.positives


def map_at_r_eq_2_35(ranks: Ranks) -> np.ndarray:
    """R-precision where the R-th neighbor is a positive, else 0 (karaman2021 eq. 2.35).

    As printed, only queries whose R-th neighbor is a positive count at all. The printed values
    have the size of `map_at_r`, which is what that study's tables are compared with. It never
    exceeds `r_precision`.
    """
    at_r = ranks.rank == np.repeat(ranks.positives, ranks.positives)
    return r_precision(ranks) * np.maximum.reduceat(at_r, ranks.start[:-1])


def map_at_c(ranks: Ranks) -> np.ndarray:
    """Precision at each positive among the n nearest, divided by the class size n (roth2020).

    n counts the query, which is not its own neighbor, so that the score cannot exceed (n - 1) / n.
    Of the forms tried this one fits the printed tables best, judged by the tables of two papers and
    not by images: eq. 29 is a kind of R-precision and would be half as large again (printed 22-23%
    on CUB200 at recall@1 62%, where musgrave2020 has R-precision 31-37% and MAP@R 21-26%), and on
    SOP the printed values are MAP@R times the mean of (n - 1) / n.
    """
    return ranks.summed_precision(ranks.class_size) / ranks.class_size


def map_at_c_eq_29(ranks: Ranks) -> np.ndarray:
    """Share of positives among the n nearest, n the class size with the query (roth2020 eq. 29).

    It cannot exceed (n - 1) / n: the query is not its own neighbor.
    """
    return ranks.hits(ranks.class_size) / ranks.class_size


def map_at_1000(ranks: Ranks) -> np.ndarray:
    """Precision at each positive among the 1000 nearest, divided by the class size (roth2020).

    The class size n counts the query, so that the score cannot exceed (n - 1) / n. Eq. 30 divides
    by 1000 and could not exceed n / 1000, 6% on CUB200, where the printed tables reach 33%.
    """
    return ranks.summed_precision(1000) / ranks.class_size


def map_at_1000_eq_30(ranks: Ranks) -> np.ndarray:
    """Number of positives among the 1000 nearest, divided by 1000 (roth2020 eq. 30).

    It cannot exceed (n - 1) / 1000, n the class size.
    """
    return ranks.hits(1000) / 1000


def mrr(ranks: Ranks) -> np.ndarray:
    """Reciprocal rank of the nearest positive, in (0, 1]."""
    return 1.0 / ranks.first


class Reach(NamedTuple):
    """How far down the ranking a metric looks.

    Attributes:
        limit: ranks beyond it do not matter, given positives [Q] and class sizes [Q].
        first_only: only the nearest positive matters.
    """

    limit: Callable[[np.ndarray, np.ndarray], np.ndarray | int]
    first_only: bool = False


_METRICS: dict[str, tuple[Callable[[Ranks], np.ndarray], Reach]] = {
    "map_at_1000": (map_at_1000, Reach(lambda positives, size: 1000)),
    "map_at_1000_eq_30": (map_at_1000_eq_30, Reach(lambda positives, size: 1000)),
    "map_at_c": (map_at_c, Reach(lambda positives, size: size)),
    "map_at_c_eq_29": (map_at_c_eq_29, Reach(lambda positives, size: size)),
    "map_at_r": (map_at_r, Reach(lambda positives, size: positives)),
    "map_at_r_eq_2_35": (map_at_r_eq_2_35, Reach(lambda positives, size: positives)),
    "mrr": (mrr, Reach(lambda positives, size: FAR, first_only=True)),
    "r_precision": (r_precision, Reach(lambda positives, size: positives)),
}


def per_query(name: str, ranks: Ranks) -> np.ndarray:
    """The metric of each scored query, float64 [Q] in [0, 1]."""
    at_k = split_at_k(name)
    if at_k is None:
        return _METRICS[name][0](ranks)
    quantity, k = at_k
    return {"recall": recall_at, "precision": precision_at}[quantity](k, ranks)


def reach(name: str) -> Reach:
    """How far down the ranking this metric looks."""
    at_k = split_at_k(name)
    if at_k is None:
        return _METRICS[name][1]
    quantity, k = at_k
    return Reach(lambda positives, size: k, first_only=quantity == "recall")
