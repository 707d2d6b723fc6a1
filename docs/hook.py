"""Pages of the site that docs/ does not have: README and its like, and those of the docstrings."""

import re
from functools import partial
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "workflow" / "scripts" / "dmlbench"
OTHERS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "config/reference/README.md")
PACKAGES = ("losses", "miners", "samplers", "regularizers", "networks", "statistics")
MODULES = {
    "inference": "model gallery pictures export",
    "evaluation": "scoring names retrieval clustering structure combination uncertainty",
    "plan": "specs.spec catalogs.recipes catalogs.catalogues studies.studies catalogs.variants "
    "specs.searches catalogs.configuration",
}
LINK = re.compile(r"(\[[^]]*\])\(([^):#]+)(#[^)]*)?\)")


def on_files(files, config):
    """Add the pages. Files of the repository that pages link to are part of the site, too."""
    pages, linked = {}, {}
    for source in [*(ROOT / name for name in OTHERS), *(ROOT / "docs").rglob("*.md")]:
        link = partial(moved, source=source, linked=linked)
        pages[place(source)] = LINK.sub(link, source.read_text())
    pages = {name: path.read_bytes() for name, path in linked.items()} | pages
    modules = {package: public(package) for package in PACKAGES} | {
        package: names.split() for package, names in MODULES.items()
    }
    for package, names in modules.items():
        parts = [f"# {package.capitalize()}", *(f"::: dmlbench.{package}.{name}" for name in names)]
        pages[f"api/{package}.md"] = "\n\n".join(parts)
    for name, content in pages.items():
        if before := files.get_file_from_path(name):
            files.remove(before)
        files.append(File.generated(config, name, content=content))
    return files


def moved(found, source, linked):
    """A link of a page as it is in the site; folders have no page there."""
    words, target, anchor = found.groups()
    path = (source.parent / target).resolve()
    if path.is_dir():
        return words[1:-1]
    linked[place(path)] = path
    return f"{words}({'../' * place(source).count('/')}{place(path)}{anchor or ''})"


def place(path):
    """Where a file of the repository is in the site."""
    name = path.relative_to(ROOT).as_posix()
    return "index.md" if name == "README.md" else name.removeprefix("docs/")


def public(package):
    files = (file.relative_to(LIBRARY / package) for file in (LIBRARY / package).rglob("*.py"))
    return sorted(".".join(file.with_suffix("").parts) for file in files if file.name[0] != "_")
