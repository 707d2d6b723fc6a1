"""Types and ranges of a part's options, declared in its signature or its fields.

    def __init__(self, *, margin: NotNegative = 0.1, positives: Literal["all", "one"] = "all"):

`dmlbench.registry` reads such declarations from the source and checks options by them, in a plan
and wherever a part is built. An annotation may be made of

- `float` (a finite number; an integer is one), `int`, `bool` (which is not a number), `str`,
  `None`;
- the types of this module, and `Annotated[float, Interval(1e-3, 60)]` and the like;
- `Literal["all", "one"]`, `X | None`, `list[X]`, `Sequence[X]`, `tuple[X, X]` (for which a list
  may be given) and `Mapping[str, X]`; no list is empty;
- `Annotated[X, Added()]`: an option that finished results did not have yet;
- `Fact[...]`: given by the pipeline, never by a configuration.

Standard library only: a plan loads this.
"""

import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from dmlbench import part_files
from dmlbench.errors import UserError
from dmlbench.evaluation.names import check_metric, metric_names, quantity


@dataclass(frozen=True)
class Interval:
    """Numbers from `low` to `high`.

    Attributes:
        open: which of the two ends is excluded.
    """

    low: float
    high: float = math.inf
    open: Literal["", "low", "high", "both"] = ""

    def holds(self, number: float) -> bool:
        above = number > self.low or (number == self.low and self.open not in ("low", "both"))
        below = number < self.high or (number == self.high and self.open not in ("high", "both"))
        return above and below

    def narrow(self, words: str) -> str:
        if self.high == math.inf:
            lower = "above {:g}" if self.open else "of {:g} or more"
            return f"{words} {lower.format(self.low)}"
        lower = "above {:g} and" if self.open in ("low", "both") else "from {:g}"
        upper = "below {:g}" if self.open in ("high", "both") else "to {:g}"
        if self.open == "low":
            upper = "up to {:g}"
        return f"{words} {lower.format(self.low)} {upper.format(self.high)}"


@dataclass(frozen=True)
class MultipleOf:
    """Integers that are a multiple of `divisor`."""

    divisor: int

    def holds(self, number: int) -> bool:
        return number % self.divisor == 0

    def narrow(self, words: str) -> str:
        return f"{words} that is a multiple of {self.divisor}"


@dataclass(frozen=True)
class OtherThan:
    """Any value but one."""

    value: float

    def holds(self, number: float) -> bool:
        return number != self.value

    def narrow(self, words: str) -> str:
        return f"{words} other than {self.value:g}"


@dataclass(frozen=True)
class Rising:
    """Lists whose values never fall."""

    def holds(self, values: list) -> bool:
        return list(values) == sorted(values)

    def narrow(self, words: str) -> str:
        return f"{words}, the smaller first"


@dataclass(frozen=True)
class Added:
    """Marks an option that a part got later; its default is what the part did before.

    With the default, no digest contains it, so nothing finished is made again.
    """

    def holds(self, value: object) -> bool:
        return True

    def narrow(self, words: str) -> str:
        return words


@dataclass(frozen=True)
class _Infinite:
    def holds(self, value: object) -> bool:
        return isinstance(value, Real) and value == math.inf

    def narrow(self, words: str) -> str:
        return "inf"


@dataclass(frozen=True)
class _Metric:
    def holds(self, name: str) -> bool:
        try:
            check_metric(name)
        except UserError:
            return False
        return True

    def narrow(self, words: str) -> str:
        return f"a metric ({', '.join(metric_names())})"


@dataclass(frozen=True)
class _Directed:
    def holds(self, name: str) -> bool:
        return quantity(name).better != ""

    def narrow(self, words: str) -> str:
        ranking = (each for each in metric_names() if quantity(each).better)
        return f"a metric of which higher or lower is better ({', '.join(ranking)})"


@dataclass(frozen=True)
class _ReadFromFiles:
    """File names as in a configuration, or what was read from those files."""

    def holds(self, value: object) -> bool:
        plain = (type(None), bool, int, float, str, list, tuple, dict)
        return fits(list[str], value) or not isinstance(value, plain)

    def narrow(self, words: str) -> str:
        return "a list of the names of printed tables"


@dataclass(frozen=True)
class PartThat:
    """Names of a package's parts, by what one of their functions takes or gives.

    Attributes:
        function: of the part, such as `forward`.
        argument: of the function; `return` for its result.
        annotation: what its annotation contains, such as `Triplets`.
    """

    package: str
    function: str
    argument: str
    annotation: str

    def names(self) -> list[str]:
        annotations = {
            name: part_files.annotation(self.package, name, self.function, self.argument)
            for name in part_files.available(self.package)
        }
        return [
            name
            for name, annotation in annotations.items()
            if self.annotation in (annotation or "")
        ]

    def holds(self, name: str) -> bool:
        return name in self.names()

    def narrow(self, words: str) -> str:
        return ", ".join(self.names())


class Fact:
    """`Fact[X]`: an argument or field of type X that the pipeline gives, not a configuration."""

    def __class_getitem__(cls, kind: Any) -> Any:
        return Annotated[kind, cls]


Positive = Annotated[float, Interval(low=0, open="low")]
NotNegative = Annotated[float, Interval(low=0)]
Infinity = Annotated[object, _Infinite()]
Share = Annotated[float, Interval(0, 1)]
"""A probability or a share, ends included."""
PositiveShare = Annotated[float, Interval(0, 1, open="low")]
InnerShare = Annotated[float, Interval(0, 1, open="both")]
"""A share, ends excluded."""
Angle = Annotated[float, Interval(0, 180)]
"""Degrees."""
Count = Annotated[int, Interval(low=1)]
CountOrZero = Annotated[int, Interval(low=0)]
"""A count, which may be 0."""
Seed = CountOrZero
CropSize = Count
"""A side in pixels, at most that of the images."""
Metric = Annotated[str, _Metric()]
RankingMetric = Annotated[Metric, _Directed()]
"""A metric that says which of two methods is better: none of those whose direction is neither."""
PairMiner = Annotated[str, PartThat("miners", "__call__", "return", "Pairs")]
TripletLoss = Annotated[str, PartThat("losses", "forward", "tuples", "Triplets")]
Printed = Annotated[object, _ReadFromFiles()]
"""Printed tables: a configuration names them, a part gets their rows."""


def fits(declared: Any, value: object) -> bool:
    """Whether a value is of a declared type."""
    origin, arguments = get_origin(declared), get_args(declared)
    if origin is Annotated:
        kind, *constraints = arguments
        return fits(kind, value) and all(each.holds(value) for each in constraints)
    if origin in (Union, types.UnionType):
        return any(fits(kind, value) for kind in arguments)
    if origin is Literal:
        return any(type(value) is type(word) and value == word for word in arguments)
    if origin is tuple:
        same_length = isinstance(value, list | tuple) and len(value) == len(arguments)
        return same_length and all(map(fits, arguments, value))
    if origin in (list, Sequence):
        is_list = isinstance(value, list | tuple) and len(value) > 0
        return is_list and all(fits(arguments[0], item) for item in value)
    if origin is Mapping:
        key, item = arguments
        return isinstance(value, Mapping) and all(
            fits(key, each) and fits(item, value[each]) for each in value
        )
    return _KINDS[declared](value)


def words(declared: Any) -> str:
    """What a declared type allows, in words: "a number of 0 or more"."""
    origin, arguments = get_origin(declared), get_args(declared)
    if origin is Annotated:
        kind, *constraints = arguments
        text = words(kind)
        for constraint in constraints:
            text = constraint.narrow(text)
        return text
    if origin in (Union, types.UnionType):
        return " or ".join(map(words, arguments))
    if origin is Literal:
        return ", ".join(map(str, arguments))
    if origin is tuple:
        return f"a list of {len(arguments)}, each {words(arguments[0])}"
    if origin in (list, Sequence):
        return f"a list, each {words(arguments[0])}"
    if origin is Mapping:
        return f"a mapping, each value {words(arguments[1])}"
    return _WORDS[declared]


def _is_number(value: object) -> bool:
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the floats
        return False


def _is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


_KINDS = {
    float: _is_number,
    int: _is_integer,
    bool: lambda value: isinstance(value, bool),
    str: lambda value: isinstance(value, str),
    type(None): lambda value: value is None,
    object: lambda value: True,
}
_WORDS = {
    float: "a finite number",
    int: "an integer",
    bool: "true, false",
    str: "text",
    type(None): "null",
    object: "anything",
}
