"""Digests of the library's source: what a stage's results depend on besides its inputs.

Snakemake does not see the files that a script imports, so every rule carries the digest of its
stage in its params and runs again when that changes. Comments, docstrings, annotations and layout
do not count.
"""

import ast
import functools
import hashlib
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2]


def module_digest(path: Path) -> str:
    """Digest of one module's code without comments, docstrings, annotations and layout.

    What is imported for annotations alone does not count either. The annotations of a class's
    fields do: they may be what makes it (pydantic, named tuples).
    """
    return _read(path)[0]


@functools.cache
def imported(path: Path) -> frozenset[Path]:
    """The library's modules that a file imports, directly or through others, and itself."""
    found, waiting = set(), [path]
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting.extend(_read(module)[1])
    return frozenset(found)


@functools.cache
def stage_digest(*scripts: str, rooms: tuple[str, ...] = ()) -> str:
    """Digest of the code that scripts under workflow/scripts run.

    Args:
        scripts: file names, such as `evaluate.py`.
        rooms: folders of the library whose methods are found by name at run time, such as
            `data/layouts`; all of their files count.
    """
    files = {file for script in scripts for file in imported(SCRIPTS / script)}
    for room in rooms:
        for file in sorted((SCRIPTS / "dmlbench" / room).glob("*.py")):
            files |= imported(file)
    parts = [f"{file.relative_to(SCRIPTS)} {module_digest(file)}" for file in sorted(files)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


@functools.cache
def library_digest() -> str:
    """Digest of all of the library's files as they are, comments and all.

    It changes with every edit, but takes milliseconds: `stage_digest` parses what it reads.
    """
    found = hashlib.sha256()
    for file in sorted((SCRIPTS / "dmlbench").rglob("*.py")):
        found.update(f"\0{file.relative_to(SCRIPTS)}\0".encode())
        found.update(file.read_bytes())
    return found.hexdigest()[:16]


@functools.cache
def _read(path: Path) -> tuple[str, list[Path]]:
    """A module's digest, and the library's files that it imports."""
    tree = ast.parse(path.read_text())
    used, imports = _strip(tree)
    files = [file for node in imports for file in _imported_by(node)]
    if path.name != "__init__.py":
        for node in imports:
            if isinstance(node, ast.ImportFrom):
                node.names = [each for each in node.names if (each.asname or each.name) in used]
    return hashlib.sha256(_text(tree).encode()).hexdigest()[:16], files


def _strip(tree: ast.Module) -> tuple[set[str], list[ast.Import | ast.ImportFrom]]:
    """Take docstrings and annotations away; the names that are used then, and the imports."""
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
    """A syntax tree as text that all versions of Python agree on: what is empty is left out."""
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


def _imported_by(node: ast.Import | ast.ImportFrom) -> list[Path]:
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        names = [] if node.level else [node.module, *(f"{node.module}.{name}" for name in names)]
    return [file for name in names for file in _files(name)]


@functools.cache
def _files(module: str) -> list[Path]:
    """The files of a library module: its own, and its package's `__init__`."""
    if module.split(".")[0] != "dmlbench":
        return []
    base = SCRIPTS.joinpath(*module.split("."))
    return [file for file in (base.with_suffix(".py"), base / "__init__.py") if file.is_file()]
