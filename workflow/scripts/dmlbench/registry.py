"""One method = one file: a method's name is its file's name, its class is that name in CamelCase.

Names and hyper-parameters are read from the source, so that the plan can check a configuration
without importing torch.
"""

import ast
import functools
import importlib
import inspect
from pathlib import Path

from dmlbench.errors import UserError, unknown

_LIBRARY = Path(__file__).parent


@functools.cache
def available(room: str) -> tuple[str, ...]:
    """Sorted names of the methods in a room of the library (`losses`, `data/layouts`, ...)."""
    files = (_LIBRARY / room).glob("*.py")
    return tuple(sorted(file.stem for file in files if not file.stem.startswith("_")))


@functools.cache
def hyperparameters(room: str, name: str) -> tuple[str, ...]:
    """Names of a method's keyword-only arguments, in the order of its signature.

    Raises:
        UserError: the room has no such method.
    """
    tree = ast.parse(file_of(room, name).read_text())
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and is_class_of(name, node.name):
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and item.name == "__init__":
                    return tuple(argument.arg for argument in item.args.kwonlyargs)
            return ()
    raise _no_class(room, name)


@functools.cache
def annotation(room: str, name: str, function: str, argument: str) -> str | None:
    """How a method annotates an argument of one of its functions ("return": its result)."""
    for node in ast.walk(ast.parse(file_of(room, name).read_text())):
        if isinstance(node, ast.ClassDef) and is_class_of(name, node.name):
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and item.name == function:
                    arguments = {argument.arg: argument.annotation for argument in item.args.args}
                    arguments["return"] = item.returns
                    found = arguments.get(argument)
                    return ast.unparse(found) if found else None
    return None


def check(room: str, name: str, given: dict) -> None:
    """Raise a UserError unless the room has this method and it takes these hyper-parameters."""
    allowed = hyperparameters(room, name)
    for key in given:
        if key not in allowed:
            raise unknown(f"hyper-parameter of {room}/{name}", key, allowed)


def build(room: str, name: str, *, context: dict | None = None, **given):
    """Build a method by name.

    Args:
        context: facts of the data or the network (`num_classes`, `labels`, ...); each goes to
            the methods that name it as an argument, and to no other.
        given: the method's hyper-parameters, its keyword-only arguments.

    Raises:
        UserError: unknown method or hyper-parameter, with the near matches.
    """
    check(room, name, given)
    module = importlib.import_module(f"dmlbench.{room}.{name}".replace("/", "."))
    method = next(value for key, value in vars(module).items() if is_class_of(name, key))
    wanted = inspect.signature(method).parameters
    facts = {key: value for key, value in (context or {}).items() if key in wanted}
    return method(**facts, **given)


def file_of(room: str, name: str) -> Path:
    if name not in available(room):
        raise unknown(room, name, available(room))
    return _LIBRARY / room / f"{name}.py"


def is_class_of(name: str, class_name: str) -> bool:
    return class_name.lower() == name.replace("_", "")


def _no_class(room: str, name: str) -> UserError:
    camel = "".join(part.capitalize() for part in name.split("_"))
    return UserError(f"{room}/{name}.py defines no class {camel}")
