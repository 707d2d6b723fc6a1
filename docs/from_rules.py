"""Write the tables of docs/map.md from rules, scripts and library; `make map` runs this."""

import ast
import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
HOME = DOCS.parent
SCRIPTS = HOME / "workflow" / "scripts"
LIBRARY = SCRIPTS / "dmlbench"
PAGE = DOCS / "map.md"
WAY = ("download", "index", "pack", "split", "train", "embed", "evaluate", "aggregate", "table")
"""The rules that an image passes through on its way into a table."""
INSIDE = {
    "train": """
        training/loop training/assembly samplers/__init__ training/trainer data/pixels data/feed
        data/transforms/__init__ networks/embedder miners/__init__ losses/__init__
        training/objective training/optimization training/selection training/checkpoint
    """,
    "evaluate": "evaluation/roles evaluation/scoring evaluation/ranks evaluation/retrieval",
    "table": "statistics/aggregation statistics/placement presentation/table",
}
"""Rule -> modules that its function calls, in the order in which they come into play."""


def tables() -> str:
    """The text between the markers of the page."""
    rules, files = _rules(), _files()
    lines = ["| rule | script | function | leaves |", "|---|---|---|---|"]
    for rule in WAY:
        where, script = rules[rule]
        module, function = called(script)
        left = ", ".join(f"`{file}`" for file in files[rule])
        lines.append(
            f"| [{rule}](../{where}) | [{script}](../workflow/scripts/{script}) | "
            f"`{function}` of {_link(module, module)} | {left} |"
        )
    for rule, modules in INSIDE.items():
        lines += ["", f"| inside {rule} | |", "|---|---|"]
        lines += [f"| {_link(module, module)} | {_summary(module)} |" for module in modules.split()]
    others = sorted(
        f"[{script.removesuffix('.py')}](../workflow/scripts/{script})"
        for rule, (_, script) in rules.items()
        if rule not in WAY
    )
    return "\n".join([*lines, "", f"Not on this way: {', '.join(dict.fromkeys(others))}."])


def _rules() -> dict[str, tuple[str, str]]:
    """Rule -> its file and its script, for the rules that have one."""
    found = {}
    for file in sorted((HOME / "rules").glob("*.smk")):
        for block in re.split(r"^(?=rule )", file.read_text(), flags=re.MULTILINE)[1:]:
            if script := re.search(r'"\.\./workflow/scripts/(\w+\.py)"', block):
                name = re.match(r"rule (\w+):", block)[1]
                found[name] = (file.relative_to(HOME).as_posix(), script[1])
    return found


def _files() -> dict[str, list[str]]:
    """Rule -> the files that it leaves, as docs/files.md lists them."""
    found: dict[str, list[str]] = {}
    folder = ""
    for line in (DOCS / "files.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| file"):
            (folder,) = re.findall(r"in `(.*)`", cells[0]) or [""]
        elif len(cells) == 3:
            names, makers = re.findall(r"`([^`]+)`", cells[0]), cells[2].split(", ")
            # Several makers make a file each, in order.
            for number, name in enumerate(names):
                maker = makers[number if len(makers) > 1 else 0]
                found.setdefault(maker, []).append(folder + name)
    return found


def called(script: str) -> tuple[str, str]:
    """The module and the function of the library to which a script passes its values."""
    tree = ast.parse((SCRIPTS / script).read_text())
    modules = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    calls = [
        (len(node.args) + len(node.keywords), node.func.id)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in modules
    ]
    function = max(calls)[1]
    return modules[function].removeprefix("dmlbench.").replace(".", "/"), function


def _link(module: str, text: str) -> str:
    return f"[{text.removesuffix('/__init__')}](../workflow/scripts/dmlbench/{module}.py)"


def _summary(module: str) -> str:
    """The first line of a module's docstring."""
    return ast.get_docstring(ast.parse((LIBRARY / f"{module}.py").read_text())).partition("\n")[0]


if __name__ == "__main__":
    sys.path.insert(0, str(SCRIPTS))
    from dmlbench.marked_text import write_marked

    write_marked(PAGE, "from_rules", tables())
