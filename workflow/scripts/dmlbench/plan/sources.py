"""Digests of the library's source, on which a stage's results depend in addition to its inputs.

Snakemake does not see the files that a script imports, so every rule has the digest of its stage in
its params and runs again when that changes. Comments, docstrings, annotations and layout do not
count.
"""

import ast
import contextlib
import functools
import hashlib
import importlib.util
import json
import sys
from pathlib import Path

from dmlbench.part_files import QUERIES

SCRIPTS = Path(__file__).resolve().parents[2]


def module_digest(path: Path) -> str:
    """Digest of one module's code without comments, docstrings, annotations and layout.

    Imports that only annotations use do not count either. The annotations of a class's fields
    count: they may define it (pydantic, named tuples).
    """
    return _read(path)[0]


@functools.cache
def imported(path: Path) -> frozenset[Path]:
    """The file itself and the library's modules that it imports, directly or indirectly."""
    modules, waiting = set(), [path]
    while waiting:
        module = waiting.pop()
        if module not in modules:
            modules.add(module)
            waiting.extend(_read(module)[1])
    return frozenset(modules)


@functools.cache
def stage_digest(*scripts: str, packages: tuple[str, ...] = ()) -> str:
    """Digest of the code behind scripts of workflow/scripts.

    Args:
        scripts: file names, such as `evaluate.py`; of parts of the user's, paths.
        packages: packages of the library whose parts are found by name at run time, such as
            `data/layouts`; all of their files count, and their named queries.
    """
    files = {file for script in scripts for file in imported(SCRIPTS / script)}
    for package in packages:
        for file in sorted((SCRIPTS / "dmlbench" / package).glob("*.py")):
            files |= imported(file)
    parts = [f"{_name(file)} {module_digest(file)}" for file in sorted(files)]
    named = [SCRIPTS / "dmlbench" / package / QUERIES for package in packages]
    parts += [file.read_text(encoding="utf-8") for file in named if file.is_file()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _name(file: Path) -> str:
    """A file's path in the library; of a part of the user's, package and name."""
    if file.is_relative_to(SCRIPTS):
        return str(file.relative_to(SCRIPTS))
    return f"dmlbench/{file.parent.name}/{file.name}"


@functools.cache
def library_digest() -> str:
    """Digest of all of the library's files, including comments.

    It changes with every edit, and takes milliseconds.
    """
    digest = hashlib.sha256()
    for file in sorted((SCRIPTS / "dmlbench").rglob("*.py")):
        digest.update(f"\0{file.relative_to(SCRIPTS)}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def _read(path: Path) -> tuple[str, list[Path]]:
    """A module's digest, and the library's files that it imports.

    The result is cached next to the module's bytecode, with a digest of its inputs: parsing all
    modules takes 0.5 s or more, reading the cache 0.07 s.
    """
    text = path.read_text(encoding="utf-8")
    of = hashlib.sha256(f"{path.name}\0{text}\0{_own_text()}".encode()).hexdigest()
    note = Path(importlib.util.cache_from_source(str(path))).with_suffix(".source.json")
    # If a cache file or its folder cannot be used, there is only more to compute.
    with contextlib.suppress(OSError, ValueError, TypeError):
        known, digest, modules = json.loads(note.read_text(encoding="utf-8"))
        if known == of:
            return digest, _files_of(modules)
    digest, modules = _parsed(text, keep_imports=path.name == "__init__.py")
    if not sys.dont_write_bytecode:
        with contextlib.suppress(OSError):
            note.parent.mkdir(exist_ok=True)
            note.write_text(json.dumps([of, digest, modules]), encoding="utf-8")
    return digest, _files_of(modules)


@functools.cache
def _own_text() -> str:
    return Path(__file__).read_text(encoding="utf-8")


def _parsed(text: str, *, keep_imports: bool) -> tuple[str, list[str]]:
    """A module's digest, and the names of what it may import.

    Args:
        keep_imports: whether unused imports count as well.
    """
    tree = ast.parse(text)
    used, imports = _strip(tree)
    modules = [name for node in imports for name in _imported_by(node)]
    if not keep_imports:
        for node in imports:
            if isinstance(node, ast.ImportFrom):
                node.names = [each for each in node.names if (each.asname or each.name) in used]
    return hashlib.sha256(_text(tree).encode()).hexdigest()[:16], modules


def _strip(tree: ast.Module) -> tuple[set[str], list[ast.Import | ast.ImportFrom]]:
    """Remove docstrings and annotations; returns the names that are still used, and the imports."""
    used, imports, fields = set(), [], set()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Name():
                used.add(node.id)
            case ast.arg():
                node.annotation = None
            case ast.AnnAssign() if node not in fields:
                node.annotation = None
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                node.returns = None
            case ast.ClassDef():
                fields.update(item for item in node.body if isinstance(item, ast.AnnAssign))
            case ast.Import() | ast.ImportFrom():
                imports.append(node)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
        waiting.extend(ast.iter_child_nodes(node))
    return used, imports


def _text(node: ast.AST | list | object) -> str:
    """A syntax tree as text, the same for all versions of Python: empty fields are left out."""
    if isinstance(node, list):
        return "[" + " ".join(filter(None, map(_text, node))) + "]"
    if isinstance(node, ast.ImportFrom) and not node.names:
        return ""
    if isinstance(node, ast.AnnAssign) and node.annotation is None:
        if node.value is None:
            return ""
        node = ast.Assign([node.target], node.value)
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [
        f"{name}={_text(value)}"
        for name, value in ast.iter_fields(node)
        if value is not None and value != []
    ]
    return f"{type(node).__name__}({' '.join(fields)})"


def _imported_by(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Names that are, or may be, modules of the library."""
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        names = [] if node.level else [node.module, *(f"{node.module}.{name}" for name in names)]
    return [name for name in names if name.split(".")[0] == "dmlbench"]


def _files_of(modules: list[str]) -> list[Path]:
    return [file for module in modules for file in _files(module)]


@functools.cache
def _files(module: str) -> list[Path]:
    """The files of a library module: its own, and its package's `__init__`."""
    base = SCRIPTS.joinpath(*module.split("."))
    return [file for file in (base.with_suffix(".py"), base / "__init__.py") if file.is_file()]
