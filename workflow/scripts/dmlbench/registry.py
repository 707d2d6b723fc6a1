"""One part = one file: a part's name is its file's name, its class is that name in CamelCase.

What a part takes is declared in its signature and read from the source, so that the plan can
check a configuration without importing torch. Facts of the data or the network are arguments by
position (or `Fact[...]`); options are keyword-only arguments, annotated by `dmlbench.values`.
"""

import ast
import functools
import importlib
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

from dmlbench import values
from dmlbench.errors import UserError, unknown

_LIBRARY = Path(__file__).parent

_NAMES = vars(values) | {
    "Annotated": Annotated,
    "Literal": Literal,
    "Mapping": Mapping,
    "Sequence": Sequence,
    **{kind.__name__: kind for kind in (bool, dict, float, int, list, str, tuple)},
}
"""What annotations and defaults of options may be written with."""


class Option(NamedTuple):
    """A keyword-only argument of a part.

    Attributes:
        kind: its declared type.
        required: whether it has no default.
        default: none where it has none.
        names: the names that its annotation is written with, such as `Metric`.
    """

    kind: Any
    required: bool
    default: Any
    names: frozenset[str]

    @property
    def is_fact(self) -> bool:
        """Whether the pipeline gives it, and no configuration."""
        return values.Fact in get_args(self.kind)


@functools.cache
def available(room: str) -> tuple[str, ...]:
    """Sorted names of the parts in a room of the library (`losses`, `data/layouts`, ...)."""
    files = (_LIBRARY / room).glob("*.py")
    return tuple(sorted(file.stem for file in files if not file.stem.startswith("_")))


@functools.cache
def options(room: str, name: str) -> dict[str, Option]:
    """A part's keyword-only arguments, in the order of its signature.

    Raises:
        UserError: the room has no such part, or an argument is not declared.
    """
    signature = _function(_class(room, name), "__init__")
    if signature is None:
        return {}
    arguments, defaults = signature.args.kwonlyargs, signature.args.kw_defaults
    return {
        argument.arg: _option(f"{room}/{name}", argument, default)
        for argument, default in zip(arguments, defaults, strict=True)
    }


@functools.cache
def options_of_kind(room: str, name: str, kind: str) -> tuple[str, ...]:
    """Names of a part's options that are declared as a type of `dmlbench.values`, or lists of it.

    >>> options_of_kind("presentation/tables", "tournament", "Metric")
    ('metric',)
    """
    return tuple(key for key, option in options(room, name).items() if kind in option.names)


@functools.cache
def hyperparameters(room: str, name: str) -> tuple[str, ...]:
    """Names of a part's keyword-only arguments, in the order of its signature.

    Raises:
        UserError: the room has no such part, or an argument is not declared.
    """
    return tuple(options(room, name))


@functools.cache
def annotation(room: str, name: str, function: str, argument: str) -> str | None:
    """How a part annotates an argument of one of its functions ("return": its result)."""
    signature = _function(_class(room, name), function)
    if signature is None:
        return None
    arguments = {argument.arg: argument.annotation for argument in signature.args.args}
    arguments["return"] = signature.returns
    found = arguments.get(argument)
    return ast.unparse(found) if found else None


@functools.cache
def version(room: str, name: str) -> int:
    """A part's version: the constant VERSION of its file, 1 where there is none.

    It is raised when the same options give other results than before.
    """
    return constant(room, name, "VERSION") or 1


@functools.cache
def constant(room: str, name: str, key: str) -> Any:
    """A plain constant of a part's file (`FOLDS = 4`); none where it has none of this name."""
    for node in _tree(_file(room, name)).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=found)], value=ast.Constant(value=value)):
                if found == key:
                    return value
    return None


def check(room: str, name: str, given: Mapping[str, Any]) -> None:
    """Raise a UserError unless the room has this part and it takes these options.

    The error is one line that names the part, the option, its value and what is allowed.
    """
    declared = _configured(room, name)
    for key, value in given.items():
        if key not in declared:
            raise unknown(f"hyper-parameter of {room}/{name}", key, declared)
        if not values.fits(declared[key].kind, value):
            allowed = values.words(declared[key].kind)
            raise UserError(f"{room}/{name}: {key} is {_shown(value)}; allowed: {allowed}")
    for key, option in declared.items():
        if option.required and key not in given:
            allowed = values.words(option.kind)
            raise UserError(f"{room}/{name}: {key} is missing; allowed: {allowed}")


def build(room: str, name: str, *, context: dict | None = None, **given):
    """Build a part by name.

    Args:
        context: facts of the data or the network (`num_classes`, `labels`, ...); each goes to
            the parts that name it as an argument, and to no other.
        given: the part's options, its keyword-only arguments.

    Raises:
        UserError: unknown part or option, with the near matches; a value that is not allowed.
    """
    configured = _configured(room, name)
    facts = options(room, name).keys() - configured.keys()
    check(room, name, {key: value for key, value in given.items() if key not in facts})
    module = importlib.import_module(f"dmlbench.{room}.{name}".replace("/", "."))
    part = next(value for key, value in vars(module).items() if _is_class_of(name, key))
    takes = inspect.signature(part).parameters.keys() - configured.keys()
    return part(**{key: value for key, value in (context or {}).items() if key in takes}, **given)


@functools.cache
def _configured(room: str, name: str) -> dict[str, Option]:
    """The options that a configuration may give."""
    return {key: option for key, option in options(room, name).items() if not option.is_fact}


def _option(part: str, argument: ast.arg, default: ast.expr | None) -> Option:
    if argument.annotation is None:
        raise UserError(f"{part}: {argument.arg} has no annotation; allowed: see dmlbench.values")
    try:
        return Option(
            kind=_evaluated(argument.annotation),
            required=default is None,
            default=None if default is None else _evaluated(default),
            names=frozenset(
                node.id for node in ast.walk(argument.annotation) if isinstance(node, ast.Name)
            ),
        )
    except KeyError as error:
        raise UserError(
            f"{part}: the declaration of {argument.arg} has {error}; allowed: see dmlbench.values"
        ) from None


def _evaluated(node: ast.expr) -> Any:
    """The value of an annotation or a default, without importing the part that has it."""
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


def _file(room: str, name: str) -> Path:
    if name not in available(room):
        raise unknown(room, name, available(room))
    return _LIBRARY / room / f"{name}.py"


@functools.cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


def _class(room: str, name: str) -> ast.ClassDef:
    for node in _tree(_file(room, name)).body:
        if isinstance(node, ast.ClassDef) and _is_class_of(name, node.name):
            return node
    camel = "".join(part.capitalize() for part in name.split("_"))
    raise UserError(f"{room}/{name}.py defines no class {camel}")


def _function(part: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    functions = (node for node in part.body if isinstance(node, ast.FunctionDef))
    return next((function for function in functions if function.name == name), None)


def _is_class_of(name: str, class_name: str) -> bool:
    return class_name.lower() == name.replace("_", "")
