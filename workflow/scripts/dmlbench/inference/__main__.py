"""A finished run from the shell: embed a folder, search it, export the network.

python -m dmlbench.inference embed RUN FOLDER [--output vectors.parquet]
python -m dmlbench.inference search RUN QUERY FOLDER [--k 10] [--output search.html]
python -m dmlbench.inference export RUN [--kind safetensors] [--output model.safetensors]
"""

import argparse
import os
import sys
from pathlib import Path
from typing import NoReturn

from dmlbench.errors import UserError
from dmlbench.image_folder import require_utf_8
from dmlbench.inference.export import KINDS, known_kind
from dmlbench.inference.find import run_folder
from dmlbench.inference.gallery import Gallery, write_gallery
from dmlbench.inference.model import Model, load
from dmlbench.inference.page import write_page
from dmlbench.inference.pictures import in_folder
from dmlbench.program import errors_in_one_line, path_of_user


def embed(model: Model, given: argparse.Namespace) -> list[str]:
    """Write the embeddings of a folder's images; what is printed about it."""
    pictures, others = in_folder(given.folder)
    gallery = Gallery(list(map(str, pictures)), model.embed(pictures))
    # Longer names leave no room for those of unfinished files.
    name = given.folder.resolve().name.encode()[:200].decode(errors="ignore")
    output = given.output or _folder(given, model) / f"{name}.parquet"
    write_gallery(gallery, model.origin, output)
    left_out = f"; {others} other files left out" if others else ""
    return [
        f"{len(pictures)} images, {gallery.embeddings.shape[1]} numbers each{left_out}: {output}"
    ]


def search(model: Model, given: argparse.Namespace) -> list[str]:
    """Rank a folder's images by their distance from the query; what is printed about it."""
    gallery = model.gallery(given.folder).without(given.query)
    neighbors = gallery.nearest(model.embed([given.query])[0], given.k)
    output = given.output or _folder(given, model) / "search.html"
    title = f"{len(gallery.pictures)} pictures of {given.folder}, by {model.run}"
    write_page(given.query, neighbors, title, output)
    ranks = [
        f"{place:4}  {each.distance:.4f}  {each.picture}"
        for place, each in enumerate(neighbors, start=1)
    ]
    return ["rank  distance  picture", *ranks, f"with pictures: {output}"]


def export(model: Model, given: argparse.Namespace) -> list[str]:
    """Write the network for other programs; what is printed about it."""
    suffix, _ = known_kind(given.kind)
    output = given.output or _folder(given, model) / f"model{suffix}"
    return [f"{given.kind}: {model.export(given.kind, output)}"]


def _folder(given: argparse.Namespace, model: Model) -> Path:
    return given.results / "use" / model.run.stem


class _Parser(argparse.ArgumentParser):
    """One whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; allowed: what --help lists")


def main(arguments: list[str] | None = None) -> None:
    for given in sys.argv[1:] if arguments is None else arguments:
        require_utf_8(given)
    parser = _Parser(description=__doc__.partition("\n")[0])
    parser.add_argument("--results", type=Path, default=Path("results"))
    commands = parser.add_subparsers(required=True)
    for command in (embed, search, export):
        added = commands.add_parser(command.__name__, help=command.__doc__.partition(";")[0])
        added.set_defaults(command=command)
        added.add_argument(
            "run",
            type=os.path.expanduser,
            help="a run's folder or digest, an exported file, or a study",
        )
        if command is search:
            added.add_argument("query", type=path_of_user, help="a picture")
            added.add_argument("--k", type=int, default=10, help="how many pictures")
        if command is export:
            added.add_argument("--kind", default="safetensors", help=", ".join(KINDS))
        else:
            added.add_argument(
                "folder", type=path_of_user, help="of pictures, or what embed wrote of it"
            )
        added.add_argument(
            "--output", type=path_of_user, help="default: a file in <results>/use/<run>"
        )
        added.add_argument(
            "--weights", type=path_of_user, help="of a frozen network, if not in results"
        )
    given = parser.parse_args(arguments)
    folder, said = run_folder(given.run, given.results)
    if said:
        print(said)
    print("\n".join(given.command(load(folder, weights=given.weights), given)))


if __name__ == "__main__":
    with errors_in_one_line():
        main()
