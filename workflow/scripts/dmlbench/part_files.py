"""What the source of a part says, read without importing it.

A part's name is its file's name, its class is that name in CamelCase. In packages of `_SEVERAL`
every public class of a file is a part, named by the class. A package may have named queries too
(`queries.yaml`): parts with other defaults. Folders of the user add parts (`own_parts`).
"""

import ast
import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from dmlbench import own_parts
from dmlbench.errors import UserError, unknown

QUERIES = "queries.yaml"
_LIBRARY = Path(__file__).parent
_SEVERAL = {"presentation/figures", "presentation/tables"}


def available(package: str) -> tuple[str, ...]:
    """Sorted names of the parts in a package of the library (`losses`, `data/layouts`, ...)."""
    return _available(package, tuple(own_parts.files_of(package)))


@functools.cache
def _available(package: str, own: tuple[Path, ...]) -> tuple[str, ...]:
    parts = {name for file in _files(package) for name in _parts(package, file)}
    return tuple(sorted(parts | queries(package).keys()))


@functools.cache
def queries(package: str) -> dict[str, dict[str, Any]]:
    """Named queries of a package: name -> values of options and of inherited fields, and

    - `part`: the part that makes it, if not that of its name;
    - `singular`: option with one value -> the option of the part with a list of values.
    """
    file = _LIBRARY / package / QUERIES
    return yaml.safe_load(file.read_text(encoding="utf-8")) if file.is_file() else {}


@functools.cache
def annotation(package: str, name: str, function: str, argument: str) -> str | None:
    """A part's annotation of an argument of one of its functions ("return": its result)."""
    signature = method_of(package, name, function)
    if signature is None:
        return None
    arguments = {argument.arg: argument.annotation for argument in signature.args.args}
    arguments["return"] = signature.returns
    node = arguments.get(argument)
    return ast.unparse(node) if node else None


@functools.cache
def version(package: str, name: str) -> int:
    """A part's version: the constant VERSION of its file, 1 if there is none.

    It must be raised when the same options give different results than before.
    """
    return constant(package, name, "VERSION") or 1


@functools.cache
def constant(package: str, name: str, key: str) -> Any:
    """A plain constant of a part's file (`FOLDS = 4`); None if it has none of this name.

    The file may import it from another part of the package. Of several parts of a file each has
    its own, in its class.
    """
    several = package in _SEVERAL
    for node in (class_of(package, name) if several else _tree(file_of(package, name))).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == key:
                return ast.literal_eval(value)
            case ast.ImportFrom(module=module, names=names):
                # From another part of the package.
                if key in [each.name for each in names]:
                    return constant(package, module.rpartition(".")[2], key)
    return None


def file_of(package: str, name: str) -> Path:
    """The file of a part.

    Raises:
        UserError: the package has no such part.
    """
    if name not in available(package):
        raise unknown(package, name, available(package))
    own = part_of(package, name)
    if package in _SEVERAL:
        return next(file for file in _files(package) if own in _parts(package, file))
    return next(file for file in _files(package) if file.stem == own)


def check_names(folder: Path) -> None:
    """Raise a UserError if a part in a folder of the user has the name of another one."""
    for package in own_parts.PACKAGES:
        for file in sorted((folder.resolve() / package).glob("[!_]*.py")):
            if file_of(package, file.stem) != file:
                raise UserError(
                    f"{file}: {package} has {file.stem} already; allowed: a name of its own"
                )


def part_of(package: str, name: str) -> str:
    """The part that makes a named query; of a part, its own name."""
    return queries(package).get(name, {}).get("part", name)


def _files(package: str) -> list[Path]:
    files = [*sorted((_LIBRARY / package).glob("*.py")), *own_parts.files_of(package)]
    return [file for file in files if not file.stem.startswith("_")]


def _parts(package: str, file: Path) -> list[str]:
    """The names of the parts in a file."""
    if package not in _SEVERAL:
        return [file.stem]
    classes = [node.name for node in _tree(file).body if isinstance(node, ast.ClassDef)]
    return [
        file.stem if is_class_of(file.stem, name) else re.sub("(?<!^)(?=[A-Z])", "_", name).lower()
        for name in classes
        if not name.startswith("_")
    ]


@functools.cache
def _tree(file: Path) -> ast.Module:
    try:
        return ast.parse(file.read_text(encoding="utf-8"))
    except SyntaxError as error:
        where = f"{file}: line {error.lineno}"
        raise UserError(f"{where}: not Python: {error.msg}: {(error.text or '').strip()}") from None


def class_of(package: str, name: str) -> ast.ClassDef:
    """A part's class.

    Raises:
        UserError: the package has no such part, or its file no class of its name.
    """
    for node in _tree(file_of(package, name)).body:
        if isinstance(node, ast.ClassDef) and is_class_of(part_of(package, name), node.name):
            return node
    camel = "".join(part.capitalize() for part in name.split("_"))
    raise UserError(f"{package}/{name}.py defines no class {camel}")


def method_of(package: str, name: str, method: str) -> ast.FunctionDef | None:
    """A method of a part, its own or that of the class of its package from which it derives.

    What the constructor of a class that is no part takes is no option: parts give it.
    """

    def own(part: ast.ClassDef) -> ast.FunctionDef | None:
        functions = (node for node in part.body if isinstance(node, ast.FunctionDef))
        return next((function for function in functions if function.name == method), None)

    return _inherited(class_of(package, name), file_of(package, name), own, method == "__init__")


def fields_of(package: str, name: str) -> list[ast.AnnAssign]:
    """The annotated fields of a part; if it has none, of the part from which it derives."""

    def own(part: ast.ClassDef) -> list[ast.AnnAssign]:
        return [node for node in part.body if isinstance(node, ast.AnnAssign)]

    return _inherited(class_of(package, name), file_of(package, name), own, parts_alone=True) or []


def derives_from(package: str, name: str, base: str) -> bool:
    """Whether a part's class has this base, or derives from a class of its package that has."""

    def has_base(part: ast.ClassDef) -> bool:
        return base in [each.id for each in part.bases if isinstance(each, ast.Name)]

    part, file = class_of(package, name), file_of(package, name)
    return bool(_inherited(part, file, has_base, parts_alone=False))


def _inherited(
    part: ast.ClassDef, file: Path, own: Callable[[ast.ClassDef], Any], parts_alone: bool
) -> Any:
    """What a class has itself, or the first class of its package from which it derives.

    Args:
        parts_alone: whether classes that are no parts of this package do not count.
    """
    if found := own(part):
        return found
    bases = {base.id for base in part.bases if isinstance(base, ast.Name)}
    for node in _tree(file).body:
        if isinstance(node, ast.ImportFrom) and bases & {each.name for each in node.names}:
            other = file.with_name(f"{node.module.rpartition('.')[2]}.py")
            if not other.is_file():
                # A part of the user's derives from one of the library.
                other = _LIBRARY.parent.joinpath(*node.module.split(".")).with_suffix(".py")
            is_part = other.parent.name == file.parent.name and not other.stem.startswith("_")
            if not other.is_file() or (parts_alone and not is_part):
                continue
            for base in _tree(other).body:
                if isinstance(base, ast.ClassDef) and base.name in bases:
                    return _inherited(base, other, own, parts_alone)
    return None


def is_class_of(name: str, class_name: str) -> bool:
    """Whether a class of this name is that of the part: `ArcFace` is of `arcface`."""
    return class_name.lower() == name.replace("_", "")
