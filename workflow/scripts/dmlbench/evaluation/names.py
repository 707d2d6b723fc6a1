"""The metrics: their names, units and directions.

Standard library only, so that a plan can check names at once.
"""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from dmlbench.errors import UserError, unknown


class Quantity(NamedTuple):
    """How the values of a metric are read.

    Attributes:
        percent: whether they are fractions, shown in percent.
        better: which of two values is the better one; empty for neither.
    """

    percent: bool
    better: Literal["higher", "lower", ""]

    @property
    def factor(self) -> int:
        """What a stored value is multiplied by to show it."""
        return 100 if self.percent else 1

    @property
    def unit(self) -> str:
        """What follows a shown value."""
        return "%" if self.percent else ""


_SCORE = Quantity(percent=True, better="higher")
_NUMBER = Quantity(percent=False, better="")

RETRIEVAL = dict.fromkeys(
    (
        "map_at_1000",
        "map_at_1000_eq_30",
        "map_at_c",
        "map_at_c_eq_29",
        "map_at_r",
        "map_at_r_eq_2_35",
        "mrr",
        "r_precision",
    ),
    _SCORE,
)
RETRIEVAL_AT_K = dict.fromkeys(("precision_at_<k>", "recall_at_<k>"), _SCORE)
CLUSTERING = dict.fromkeys(("ami", "f1", "nmi"), _SCORE)
STRUCTURE = dict.fromkeys(
    (
        "pi_inter",
        "pi_inter_euclidean",
        "pi_intra",
        "pi_intra_euclidean",
        "pi_ratio",
        "pi_ratio_euclidean",
        "rho",
    ),
    _NUMBER,
)
EXPERIMENTS = {"violated_constraints": Quantity(percent=True, better="lower")}
"""Metrics of experiments alone; those not listed are plain numbers without a better direction."""
_STATED = RETRIEVAL | RETRIEVAL_AT_K | CLUSTERING | STRUCTURE | EXPERIMENTS
KINDS = ("retrieval", "clustering", "structure")
LARGEST_K = 1000

_AT_K = re.compile(r"(recall|precision)_at_([1-9][0-9]*)")


def metric_names() -> tuple[str, ...]:
    """Sorted names of all metrics; `<k>` stands for a whole number from 1 to 1000."""
    return tuple(sorted((*RETRIEVAL, *RETRIEVAL_AT_K, *CLUSTERING, *STRUCTURE)))


def quantity(name: str) -> Quantity:
    """Unit and direction of a metric, also of one that only an experiment has.

    >>> quantity("recall_at_8")
    Quantity(percent=True, better='higher')
    >>> quantity("rho").factor
    1
    """
    at_k = split_at_k(name)
    return _STATED.get(f"{at_k[0]}_at_<k>" if at_k else name, _NUMBER)


def check_metrics(names) -> list[str]:
    """The names as a list, once each is a metric.

    >>> check_metrics("recall_at_1")
    Traceback (most recent call last):
    dmlbench.errors.UserError: metrics='recall_at_1'; allowed: a list of names, ['recall_at_1']

    Raises:
        UserError: not a list of names, or an unknown name.
    """
    if isinstance(names, str):
        raise UserError(f"metrics={names!r}; allowed: a list of names, [{names!r}]")
    if not isinstance(names, Iterable):
        raise UserError(f"metrics={names!r}; allowed: a list of names")
    names = list(names)
    for name in names:
        check_metric(name)
    return names


def check_metric(name: str) -> None:
    """Raise a UserError unless `name` is a metric.

    >>> check_metric("recall_at_8")
    >>> check_metric("recall_at_0")
    Traceback (most recent call last):
    dmlbench.errors.UserError: metric 'recall_at_0': k is a whole number from 1 to 1000
    """
    if not isinstance(name, str):
        raise UserError(f"metric {name!r}: a name is a string")
    if kind(name) is None:
        if re.fullmatch(r"(recall|precision)_at_\S*", name):
            raise UserError(f"metric {name!r}: k is a whole number from 1 to {LARGEST_K}")
        raise unknown("metric", name, metric_names())


def check_ranking_metric(name: str) -> None:
    """Raise a UserError unless `name` is a metric of which one direction is better."""
    check_metric(name)
    if not quantity(name).better:
        allowed = ", ".join(each for each in metric_names() if quantity(each).better)
        raise UserError(
            f"metric {name!r} ranks nothing: neither higher nor lower is better; allowed: {allowed}"
        )


def kind(name: str) -> str | None:
    """The kind of metric that a name is: one of KINDS, or None."""
    if name in RETRIEVAL or split_at_k(name) is not None:
        return "retrieval"
    if name in CLUSTERING:
        return "clustering"
    if name in STRUCTURE:
        return "structure"
    return None


def split_at_k(name: str) -> tuple[str, int] | None:
    """The quantity and the k of a name such as `recall_at_8`; None for every other name.

    >>> split_at_k("recall_at_8")
    ('recall', 8)
    """
    match = _AT_K.fullmatch(name)
    if match is None or int(match[2]) > LARGEST_K:
        return None
    return match[1], int(match[2])
