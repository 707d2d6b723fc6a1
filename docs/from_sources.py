"""Write the tables of docs/official.md from the catalogs: `make sources`.

What a published study needs, whether everybody can get it, and which files nobody here has opened.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

DOCS = Path(__file__).resolve().parent
HOME = DOCS.parent
sys.path[:0] = [str(HOME / "workflow" / "scripts")]

from dmlbench import plan  # noqa: E402 (the library is on the path only now)
from dmlbench.marked_text import write_marked  # noqa: E402
from dmlbench.plan.catalogs.catalogues import Archive, Dataset, Weights  # noqa: E402

PAGE = DOCS / "official.md"
PUBLISHED = HOME / "results" / "published"

OPENED = {
    "GroceryStoreDataset-fc80ba90.tar.gz": "the commit, not GitHub's archive of it: its 5,421 "
    "images are those of our zip",
    "efficientnet_lite0-acf4645b.pth": "the package: it gives this file to the bit",
    "efficientnet-lite1-77cc7160.pth": "the package",
    "efficientnet-lite2-9656183e.pth": "the package",
    "twemoji-1.2.5.json": "the package",
    "noto-1.2.9.json": "the package",
    "noto-v1-1.2.5.json": "the package",
    "openmoji-1.2.29.json": "the package",
    "fluent-emoji-flat-1.2.6.json": "the package",
    "fxemoji-1.2.2.json": "the package",
    "emojione-1.2.3.json": "the package",
    "emojione-v1-1.2.3.json": "the package",
}
"""What somebody here has opened at its address; everything else is known by its hash or counts."""


def studies(loaded: plan.Plan) -> str:
    """What published studies need, and who can run them; those with equal needs share a row."""
    found: dict[tuple[str, ...], list[str]] = {}
    for study in sorted(path.name for path in PUBLISHED.iterdir()):
        if study not in loaded.studies:
            continue
        rows = loaded.rows(study)
        datasets = list(dict.fromkeys(row.dataset for row in rows))
        networks = [loaded.networks[name] for name in dict.fromkeys(row.network for row in rows)]
        weights = {each.weights.file: each.weights for each in networks if each.weights}
        public = verdict(loaded, [loaded.datasets[name] for name in datasets], weights)
        cells = (", ".join(datasets), ", ".join(weights) or "none", public)
        found.setdefault(cells, []).append(study)
    lines = ["| studies | images | weights | the public |", "|---|---|---|---|"]
    lines += [f"| {' | '.join((', '.join(names), *cells))} |" for cells, names in found.items()]
    return "\n".join(lines)


def verdict(loaded: plan.Plan, datasets: list[Dataset], weights: Mapping[str, Weights]) -> str:
    """Whether everybody can run a study on these."""
    needed, other = dict(weights), ""
    for dataset in datasets:
        source = dataset
        if dataset.encodings and not all(map(place, dataset.archives.values())):
            source = loaded.datasets[next(iter(dataset.encodings.values())).of]
            other = ", as runs of another encoding"
        needed |= source.archives
    if absent := [name for name, file in needed.items() if not place(file)]:
        return f"no: only mirrors have {absent[0]}"
    unseen = [f"{place(file)} has {name}" for name, file in needed.items() if name not in OPENED]
    return f"{'if ' + ' and '.join(unseen) if unseen else 'yes'}{other}"


def files(loaded: plan.Plan) -> str:
    """The published files that the studies' images and weights come from."""
    lines = ["| file | of | published | opened here |", "|---|---|---|---|"]
    for name, (owner, file) in sources(loaded).items():
        published = place(file) or "only mirrors have it"
        lines.append(f"| {name} | {owner} | {published} | {OPENED.get(name, 'no')} |")
    return "\n".join(lines)


def sources(loaded: plan.Plan) -> dict[str, tuple[str, Archive | Weights]]:
    """Name -> user and entry of each file."""
    found = {}
    for name, dataset in loaded.datasets.items():
        if not dataset.encodings:
            for archives in (dataset.archives, *dataset.alternatives.values()):
                found |= {file: (name, archive) for file, archive in archives.items()} | found
    for name, network in loaded.networks.items():
        if network.weights:
            found.setdefault(network.weights.file, (name, network.weights))
    return found


def place(file: Archive | Weights) -> str | None:
    """Where a file is published; None if only mirrors have it."""
    if package := getattr(file, "package", None):
        return f"package {package.name} {package.version}"
    if not file.urls:
        return None
    address = file.urls[0]
    if address.startswith("npm:"):
        return f"package {address.removeprefix('npm:').rpartition('/')[0]} of npm"
    return address.split("/")[2]


def tables() -> dict[str, str]:
    """Name of the marks -> the table between them."""
    loaded = plan.load({"pathvars": {"results": "results"}}, HOME / "config")
    return {"studies": studies(loaded), "files": files(loaded)}


if __name__ == "__main__":
    for name, text in tables().items():
        write_marked(PAGE, f"from_sources {name}", text)
