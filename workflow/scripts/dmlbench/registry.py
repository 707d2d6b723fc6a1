"""Parts by name: one per file (`dmlbench.part_files`).

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
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, get_args

from dmlbench import values
from dmlbench.errors import UserError, unknown
from dmlbench.part_files import (
    annotation,
    available,
    class_of,
    constant,
    is_class_of,
    method_of,
    version,
)

__all__ = [
    "Option",
    "annotation",
    "available",
    "build",
    "check_options",
    "constant",
    "options",
    "options_of_kind",
    "version",
]

_NAMES = vars(values) | {
    "Annotated": Annotated,
    "Literal": Literal,
    "Mapping": Mapping,
    "Sequence": Sequence,
    **{kind.__name__: kind for kind in (bool, dict, float, int, list, str, tuple)},
}
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
        return values.Added() in get_args(self.kind)


@functools.cache
def options(package: str, name: str) -> dict[str, Option]:
    """A part's keyword-only arguments or fields, in the order of the source.

    Raises:
        UserError: the package has no such part, or an argument is not declared.
    """
    signature = method_of(package, name, "__init__")
    if signature:
        keys = [(argument.arg, argument.annotation) for argument in signature.args.kwonlyargs]
        declared = zip(keys, signature.args.kw_defaults, strict=True)
    else:
        body = class_of(package, name).body
        fields = [node for node in body if isinstance(node, ast.AnnAssign)]
        declared = [((field.target.id, field.annotation), field.value) for field in fields]
    return {
        key: _option(f"{package}/{name}", key, annotation, default)
        for (key, annotation), default in declared
    }


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
        if not values.fits(declared[key].kind, value):
            allowed = values.words(declared[key].kind)
            raise UserError(f"{package}/{name}: {key} is {_shown(value)}; allowed: {allowed}")
    for key, option in declared.items():
        if option.required and key not in given:
            allowed = values.words(option.kind)
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
    module = importlib.import_module(f"dmlbench.{package}.{name}".replace("/", "."))
    part = next(value for key, value in vars(module).items() if is_class_of(name, key))
    takes = inspect.signature(part).parameters.keys() - configured.keys()
    return part(**{key: value for key, value in (context or {}).items() if key in takes}, **given)


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


def _option(part: str, key: str, annotation: ast.expr | None, default: ast.expr | None) -> Option:
    if annotation is None:
        raise UserError(f"{part}: {key} {_NO_ANNOTATION}")
    try:
        option = Option(
            kind=_evaluated(annotation),
            required=default is None,
            default=None if default is None else _evaluated(default),
            names=frozenset(node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)),
        )
    except KeyError as error:
        raise UserError(
            f"{part}: the declaration of {key} has {error}; allowed: see dmlbench.values"
        ) from None
    if option.is_added and option.required:
        raise UserError(
            f"{part}: {key} is Added without a default; allowed: what the part did before"
        )
    return option


def _evaluated(node: ast.expr) -> Any:
    """The value of an annotation or a default, without importing its part."""
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return _NAMES[node.id]
        case ast.Tuple():
            return tuple(map(_evaluated, node.elts))
        case ast.Subscript(value=ast.Name(id="Fact")):
            return values.Fact[object]
        case ast.Subscript():
            return _evaluated(node.value)[_evaluated(node.slice)]
        case ast.Call(func=ast.Name()):
            given = {keyword.arg: _evaluated(keyword.value) for keyword in node.keywords}
            return _evaluated(node.func)(*map(_evaluated, node.args), **given)
        case ast.UnaryOp(op=ast.USub()):
            return -_evaluated(node.operand)
        case ast.BinOp(op=ast.BitOr()):
            return _evaluated(node.left) | _evaluated(node.right)
        case ast.BinOp(op=ast.Div()):
            return _evaluated(node.left) / _evaluated(node.right)
    raise KeyError(ast.unparse(node))


def _shown(value: Any) -> str:
    """A value on one line of moderate length."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


_LONGEST = 80
