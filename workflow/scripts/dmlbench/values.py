"""Types and ranges of a part's options, declared in its signature or its fields.

    def __init__(self, *, margin: NotNegative = 0.1, positives: Literal["all", "one"] = "all"):

`dmlbench.registry` reads such declarations from the source, and pydantic checks options by them, in
a plan and wherever a part is built. An annotation may be made of

- `float` (a finite number; an integer is one), `int`, `bool` (which is not a number), `str`,
  `None`;
- the types of this module, and `Annotated[float, Interval(ge=1e-3, le=60)]` and the like;
- `Literal["all", "one"]`, `X | None`, `Sequence[X]` and `Mapping[str, X]`; no list is empty;
- `Annotated[X, Added()]`: an option that finished results did not have yet; with
  `Added(preferred=...)`, new recipes and the library take another value than they did;
- `Fact[...]`: given by the pipeline, never by a configuration.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, dataclass_transform

from annotated_types import Interval, Len, MultipleOf
from pydantic import AfterValidator, AllowInfNan, ConfigDict, TypeAdapter, ValidationError

from dmlbench import part_files
from dmlbench.errors import UserError
from dmlbench.evaluation.names import check_metric, metric_names, quantity

__all__ = ["Interval", "MultipleOf", "Part"]


@dataclass(frozen=True)
class Added:
    """Marks an option that a part got later; its default is what the part did before.

    With the default, no digest contains it, so nothing finished is made again.

    Attributes:
        preferred: what new recipes and the library take; None for the default.
    """

    preferred: Any = None


class Fact:
    """`Fact[X]`: an argument or field of type X that the pipeline gives, not a configuration."""

    def __class_getitem__(cls, kind: Any) -> Any:
        return Annotated[kind, cls]


@dataclass_transform(kw_only_default=True)
class Part:
    """A part of the library; a subclass is a dataclass, without a decorator.

    Its fields are its options (`dmlbench.registry`), given by name.
    """

    def __init_subclass__(cls):
        super().__init_subclass__()
        dataclass(kw_only=True, eq=False, repr=False)(cls)


def _parts_that(package: str, function: str, argument: str, annotation: str) -> list[str]:
    """Names of a package's parts, by what one of their functions takes or gives.

    Args:
        function: of the part, such as `forward`.
        argument: of the function; `return` for its result.
        annotation: what its annotation contains, such as `Triplets`.
    """
    return [
        name
        for name in part_files.available(package)
        if annotation in (part_files.annotation(package, name, function, argument) or "")
    ]


def _if(holds: Callable[[Any], bool], allowed: Callable[[], str]) -> AfterValidator:
    """A check of a value, with what is allowed in words."""

    def checked(value: Any) -> Any:
        if not holds(value):
            raise ValueError(allowed())
        return value

    return AfterValidator(checked)


def _one_of(names: Callable[[], list[str]]) -> AfterValidator:
    return _if(lambda name: name in names(), lambda: ", ".join(names()))


def _is_metric(name: str) -> bool:
    try:
        check_metric(name)
    except UserError:
        return False
    return True


def _ranks(name: str) -> bool:
    return quantity(name).better != ""


def _is_read_from_files(value: object) -> bool:
    """File names as in a configuration, or what was read from those files."""
    plain = (type(None), bool, int, float, str, list, tuple, dict)
    return refusal(Sequence[str], value) is None or not isinstance(value, plain)


_Value = TypeVar("_Value")
Positive = Annotated[float, Interval(gt=0)]
PositiveOrInfinite = Annotated[float, AllowInfNan(True), Interval(gt=0)]
NotNegative = Annotated[float, Interval(ge=0)]
NotOne = Annotated[float, _if(lambda number: number != 1, lambda: "any number but 1")]
Share = Annotated[float, Interval(ge=0, le=1)]
"""A probability or a share, ends included."""
PositiveShare = Annotated[float, Interval(gt=0, le=1)]
InnerShare = Annotated[float, Interval(gt=0, lt=1)]
"""A share, ends excluded."""
Angle = Annotated[float, Interval(ge=0, le=180)]
"""Degrees."""
Count = Annotated[int, Interval(ge=1)]
CountOrZero = Annotated[int, Interval(ge=0)]
"""A count, which may be 0."""
Seed = CountOrZero
CropSize = Count
"""A side in pixels, at most that of the images."""
Range = Annotated[
    Sequence[_Value],
    Len(2, 2),
    _if(lambda ends: ends[0] <= ends[1], lambda: "two numbers, the smaller first"),
]
Metric = Annotated[str, _if(_is_metric, lambda: f"a metric ({', '.join(metric_names())})")]
RankingMetric = Annotated[
    Metric,
    _if(
        _ranks,
        lambda: (
            "a metric of which higher or lower is better "
            f"({', '.join(filter(_ranks, metric_names()))})"
        ),
    ),
]
"""A metric that says which of two methods is better: none of those whose direction is neither."""
pair_miners = functools.partial(_parts_that, "miners", "__call__", "return", "Pairs")
PairMiner = Annotated[str, _one_of(pair_miners)]
losses_of_triplets = functools.partial(_parts_that, "losses", "forward", "tuples", "Triplets")
TripletLoss = Annotated[str, _one_of(losses_of_triplets)]
Printed = Annotated[
    object, _if(_is_read_from_files, lambda: "a list of the names of printed tables")
]
"""Printed tables: a configuration names them, a part gets their rows."""

_LISTS = ("is_instance_of", "sequence_str", "list_type")
"""Errors of pydantic for what is no list."""


def refusal(declared: Any, value: Any) -> str | None:
    """What a declared type allows instead of a value, in words; None if it allows the value."""
    if hasattr(value, "item") and not hasattr(value, "__len__"):
        # NumPy's numbers are numbers.
        value = value.item()
    try:
        _adapter(declared).validate_python(value)
    except ValidationError as error:
        return " or ".join(dict.fromkeys(map(_words, error.errors())))
    return (
        "a list with at least one item" if isinstance(value, list | tuple) and not value else None
    )


@functools.cache
def _adapter(declared: Any) -> TypeAdapter:
    return TypeAdapter(declared, config=ConfigDict(strict=True, allow_inf_nan=False))


def _words(error: Any) -> str:
    said = error["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return "a list" if error["type"] in _LISTS else said
