"""Parts by name (`dmlbench.part_files`).

A part's options are declared in its source and read from there, so that the plan can check a
configuration without importing torch. They are the keyword-only arguments of `__init__`, or, if the
class has none (a dataclass), its fields, annotated by `dmlbench.values`; a part that derives from
another one of its package has the other's. Facts of the data or the network are positional
arguments, inherited fields, or `Fact[...]`.
"""

import ast
import functools
import importlib
import inspect
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple, get_args

from dmlbench import values
from dmlbench.errors import UserError, unknown
from dmlbench.part_files import (
    annotation,
    available,
    class_of,
    constant,
    derives_from,
    fields_of,
    file_of,
    is_class_of,
    method_of,
    part_of,
    queries,
    version,
)

__all__ = [
    "Option",
    "annotation",
    "available",
    "build",
    "check_options",
    "constant",
    "derives_from",
    "options",
    "options_of_kind",
    "preferred",
    "version",
]

_NAMES = vars(values) | {"Literal": Literal, "Mapping": Mapping}
"""The names that annotations and defaults of options may use."""


class Option(NamedTuple):
    """A keyword-only argument or a field of a part.

    Attributes:
        kind: its declared type.
        required: whether it has no default.
        default: None if it has none.
        names: the names in its annotation, such as `Metric`.
    """

    kind: Any
    required: bool
    default: Any
    names: frozenset[str]

    @property
    def is_fact(self) -> bool:
        """Whether the pipeline gives it, not a configuration."""
        return values.Fact in get_args(self.kind)

    @property
    def is_added(self) -> bool:
        """Whether the part got it later, with its earlier behavior as the default."""
        return self._added is not None

    @property
    def preferred(self) -> Any:
        """What new recipes and the library take; None for the default."""
        return self._added and self._added.preferred

    @property
    def _added(self) -> values.Added | None:
        marks = (mark for mark in get_args(self.kind) if isinstance(mark, values.Added))
        return next(marks, None)


@functools.cache
def options(package: str, name: str) -> dict[str, Option]:
    """A part's keyword-only arguments or fields, in the order of the source.

    A named query has those of its part, with its own defaults.

    Raises:
        UserError: the package has no such part, or an argument is not declared.
    """
    signature = method_of(package, name, "__init__")
    if signature:
        keys = [(argument.arg, argument.annotation) for argument in signature.args.kwonlyargs]
        declared = zip(keys, signature.args.kw_defaults, strict=True)
    else:
        declared = [
            ((field.target.id, field.annotation), field.value) for field in fields_of(package, name)
        ]
    found = {
        key: _option(f"{package}/{name}", key, annotation, default)
        for (key, annotation), default in declared
    }
    query = queries(package).get(name, {})
    for key in found.keys() & query.keys():
        found[key] = found[key]._replace(required=False, default=query[key])
    for key, several in query.get("singular", {}).items():
        found[key] = _single(found.pop(several))
    return found


def preferred(package: str, name: str) -> dict[str, Any]:
    """The options that new recipes and the library give other values than finished runs have."""
    declared = options(package, name).items()
    return {key: option.preferred for key, option in declared if option.preferred is not None}


@functools.cache
def options_of_kind(package: str, name: str, *kinds: str) -> tuple[str, ...]:
    """Names of a part's options whose type is one of `dmlbench.values`, or a list of it.

    >>> options_of_kind("presentation/tables", "tournament", "RankingMetric")
    ('metric',)
    """
    return tuple(key for key, option in options(package, name).items() if option.names & set(kinds))


def check_options(package: str, name: str, given: Mapping[str, Any]) -> None:
    """Raise a UserError unless the package has this part and it takes these options.

    The error is one line that names the part, the option, its value and what is allowed.
    """
    declared = _configured(package, name)
    for key, value in given.items():
        if key not in declared:
            if why := _not_declared(package, name).get(key):
                raise UserError(f"{package}/{name}: {key} {why}")
            raise unknown(f"hyper-parameter of {package}/{name}", key, declared)
        if allowed := values.refusal(declared[key].kind, value):
            raise UserError(f"{package}/{name}: {key} is {_shown(value)}; allowed: {allowed}")
    for key, option in declared.items():
        if option.required and key not in given:
            allowed = values.refusal(option.kind, None) or "null"
            raise UserError(f"{package}/{name}: {key} is missing; allowed: {allowed}")


def build(package: str, name: str, *, context: dict | None = None, **given):
    """Build a part by name.

    Args:
        context: facts of the data or the network (`num_classes`, `labels`, ...); each goes only to
            parts with an argument of its name.
        given: the part's options, its keyword-only arguments.

    Raises:
        UserError: unknown part or option, with the near matches; a value that is not allowed.
    """
    configured = _configured(package, name)
    facts = options(package, name).keys() - configured.keys()
    check_options(package, name, {key: value for key, value in given.items() if key not in facts})
    classes = inspect.getmembers(_module(package, file_of(package, name)), inspect.isclass)
    own = part_of(package, name)
    part = next(each for key, each in classes if is_class_of(own, key))
    takes = inspect.signature(part).parameters.keys() - configured.keys()
    context = {key: value for key, value in (context or {}).items() if key in takes}
    return part(**context, **_as_of_part(queries(package).get(name, {}), given))


def _module(package: str, file: Path) -> ModuleType:
    """The module of a part; those of the user are imported as if they were in the package."""
    folder = f"dmlbench.{package}".replace("/", ".")
    searched = importlib.import_module(folder).__path__
    if not any(file.parent.samefile(path) for path in searched):
        searched.append(str(file.parent))
    return importlib.import_module(f"{folder}.{file.stem}")


def _as_of_part(query: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a query's part."""
    query = dict(query)
    query.pop("part", None)
    lists = query.pop("singular", {})
    return query | {
        lists.get(key, key): [value] if key in lists else value for key, value in given.items()
    }


@functools.cache
def _configured(package: str, name: str) -> dict[str, Option]:
    """The options that a configuration may give."""
    return {key: option for key, option in options(package, name).items() if not option.is_fact}


def _not_declared(package: str, name: str) -> dict[str, str]:
    """What looks like an option but is none -> why."""
    signature = method_of(package, name, "__init__")
    arguments = signature.args.args[1:] if signature else []
    body = class_of(package, name).body
    constants = [node.targets[0] for node in body if isinstance(node, ast.Assign)]
    return {argument.arg: _POSITIONAL for argument in arguments} | {
        target.id: _NO_ANNOTATION for target in constants if isinstance(target, ast.Name)
    }


_POSITIONAL = (
    "is a positional argument; allowed as options: keyword-only arguments, after `*` in the "
    "signature of __init__"
)
_NO_ANNOTATION = "has no annotation; allowed: see dmlbench.values"


def _single(several: Option) -> Option:
    """An option with one value, of an option with a list of values."""
    default = several.default[0] if several.default else None
    return several._replace(kind=get_args(several.kind)[0], default=default)


def _option(part: str, key: str, annotation: ast.expr | None, default: ast.expr | None) -> Option:
    if annotation is None:
        raise UserError(f"{part}: {key} {_NO_ANNOTATION}")
    try:
        option = Option(
            kind=_evaluated(annotation),
            required=default is None,
            default=default and _evaluated(default),
            names=frozenset(node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)),
        )
    except NameError as error:
        raise UserError(
            f"{part}: the declaration of {key} has {error.name!r}; allowed: see dmlbench.values"
        ) from None
    if option.is_added and option.required:
        raise UserError(
            f"{part}: {key} is Added without a default; allowed: what the part did before"
        )
    return option


def _evaluated(node: ast.expr) -> Any:
    """The value of an annotation or a default, without importing its part."""
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Fact":
        # Of a type that only the part imports.
        return values.Fact[object]
    # As importing the part would, but with few names.
    return eval(compile(ast.Expression(node), "", "eval"), dict(_NAMES))  # noqa: S307


def _shown(value: Any) -> str:
    """A value on one line of moderate length."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


_LONGEST = 80
