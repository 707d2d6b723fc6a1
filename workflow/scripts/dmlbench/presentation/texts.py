"""How names, numbers and lists read in tables, figures and pages."""

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal

from dmlbench.evaluation.names import quantity

SIGNIFICANT = 0.05
"""p-value below which a test finds a difference."""

TOY_NUMBERS = "toy numbers"
REHEARSAL = "A rehearsal with toy numbers, which say nothing about the methods."
"""The note on rehearsed numbers in every table, figure and page."""

SELECTIONS = {
    "best_test_epoch": "test-selected",
    "own_best_test_epoch": "test-selected, each metric at its own best epoch",
    "best_validation_epoch": "validation-selected",
    "last_epoch": "last epoch",
    "none": "nothing selected",
}
"""Selection rule -> its name in headers and captions."""

EXPLAINED = {
    "best_test_epoch": (
        "Test-selected: of the evaluated epochs, the one that scores best on the test classes is "
        "shown. The test labels took part in choosing the model, so these scores are "
        "optimistic; the last-epoch scores next to them are not."
    ),
    "own_best_test_epoch": (
        "Test-selected, metric by metric: each score is that of the evaluated epoch in which this "
        "metric is best on the test classes, so that a row need not be one model. The test labels "
        "chose every number; these scores are more optimistic than those of one best epoch."
    ),
    "best_validation_epoch": (
        "Validation-selected: of the evaluated epochs, the one that scores best on held-out "
        "validation classes is shown. The test labels played no part in it."
    ),
    "last_epoch": (
        "Last epoch: the model is scored as training leaves it. The test labels played no part."
    ),
    "none": "Nothing was selected: there is one score.",
}
"""Selection rule -> its meaning, in plain words."""

_SHOWN = {
    "best_test_epoch": "Test-selected: the epoch with the best test score is shown.",
    "own_best_test_epoch": "Test-selected: each metric is shown at its own best test epoch.",
    "best_validation_epoch": (
        "Validation-selected: the epoch with the best validation score is shown."
    ),
    "last_epoch": "Scores of the last epoch.",
}

_NOISE = 9
"""Decimals beyond which a score is floating-point noise."""

_METRICS = {
    "r_precision": "R-precision",
    "map_at_r": "MAP@R",
    "map_at_c": "MAP@C",
    "nmi": "NMI",
    "ami": "AMI",
    "f1": "F1",
}


def name(titles: Mapping[str, str], key: object) -> str:
    """The display name of an id; `recall_at_4` is R@4, an unknown id loses its underscores."""
    key = str(key)
    if key in titles:
        return titles[key]
    at_k = re.fullmatch(r"(recall|precision|map)_at_(\d+)", key)
    if at_k:
        return {"recall": "R", "precision": "P", "map": "MAP"}[at_k[1]] + "@" + at_k[2]
    return _METRICS.get(key, key.replace("_", " "))


def with_unit(titles: Mapping[str, str], metric: str) -> str:
    """The display name of a metric with its unit, for an axis: `R@1 (%)`."""
    unit = quantity(metric).unit
    return f"{name(titles, metric)} ({unit})" if unit else name(titles, metric)


def in_percent(titles: Mapping[str, str], metrics: Iterable[str], words: str = "percent") -> str:
    """` in percent`, to follow what is shown of these metrics; empty if all are plain numbers.

    Args:
        words: the unit, such as `percentage points` for differences.
    """
    metrics = list(metrics)
    plain = [name(titles, metric) for metric in metrics if not quantity(metric).percent]
    if len(plain) == len(metrics):
        return ""
    return f" in {words}" + (f" ({listed(plain)}: plain numbers)" if plain else "")


def points(metric: str) -> str:
    """The unit of a difference of two scores of a metric, after the number."""
    return " points" if quantity(metric).percent else ""


def selected(selection: str) -> str:
    """A sentence for a caption: how the scores were selected."""
    return _SHOWN.get(selection, "")


def rounded(value: float, decimals: int, *, sign: str = "") -> str:
    """A number with a given number of decimals, halves rounded away from zero, never minus zero.

    Halves are those of the intended decimal number: 64.15 becomes 64.2 even if it was computed as
    64.14999999999999.

    Args:
        sign: "+" to print a plus before numbers that are above 0 after rounding.
    """
    meant = Decimal(repr(round(float(value), _NOISE)))
    number = meant.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    return f"{number if number else abs(number):{sign}f}"


def brief(metric: str, value: float) -> str:
    """A metric's value in its unit, for the inside of a figure: `61.3` percent, or `0.457`."""
    return rounded(value, 1) if quantity(metric).percent else f"{value:.3g}"


def duration(seconds: float) -> str:
    """Seconds as text: 4.2 s, 3 min 20 s, 2 h 05 min (with no-break spaces)."""
    minutes, rest = divmod(round(seconds), 60)
    if seconds < 59.95:
        text = f"{seconds:.1f} s"
    elif minutes < 60:
        text = f"{minutes} min {rest:02d} s"
    else:
        text = f"{minutes // 60} h {minutes % 60:02d} min"
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def minus(text: object) -> str:
    """A number as text, with a sign as long as a plus."""
    return str(text).replace("-", "\N{MINUS SIGN}")


def listed(parts: Sequence[str]) -> str:
    """One, two and three."""
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last
