"""Commands for finished runs: embed a folder, search it, export the network."""

import os
from pathlib import Path

import click

from dmlbench.command.types import PATH

_RUN = click.argument("run", type=os.path.expanduser)
_OUTPUT = click.option("--output", type=PATH, help="Default: a file in <results>/use/<run>.")
_WEIGHTS = click.option("--weights", type=PATH, help="Of a frozen network, if not in the results.")
_RESULTS = click.option(
    "--results", type=PATH, default="results", show_default=True, help="The folder of results."
)
_WHICH = """
    RUN is a run's folder, the digest at its end, an exported .safetensors, or a finished study, of
    which the run with the highest R@1 is taken.
"""


def _of_a_run(command):
    command.help = f"{command.help.rstrip()}\n{_WHICH}"
    return command


@_of_a_run
@click.command()
@_RUN
@click.argument("folder", type=PATH)
@_OUTPUT
@_WEIGHTS
@_RESULTS
def embed(run, folder, output, weights, results):
    """Embed the images in FOLDER, as Parquet."""
    from dmlbench.inference.gallery import Gallery, write_gallery
    from dmlbench.inference.pictures import in_folder

    model = _loaded(run, results, weights)
    pictures, others = in_folder(folder)
    gallery = Gallery(list(map(str, pictures)), model.embed(pictures))
    # Longer names leave no room for those of unfinished files.
    name = folder.resolve().name.encode()[:200].decode(errors="ignore")
    output = output or _folder(results, model) / f"{name}.parquet"
    write_gallery(gallery, model.origin, output)
    left_out = f"; {others} other files left out" if others else ""
    numbers = f"{gallery.embeddings.shape[1]} numbers each"
    click.echo(f"{len(pictures)} images, {numbers}{left_out}: {output}")


@_of_a_run
@click.command()
@_RUN
@click.argument("query", type=PATH)
@click.argument("folder", type=PATH)
@click.option("--k", type=int, default=10, show_default=True, help="How many pictures.")
@_OUTPUT
@_WEIGHTS
@_RESULTS
def search(run, query, folder, k, output, weights, results):
    """Find the pictures in FOLDER that are nearest to QUERY.

    FOLDER may be what embed wrote of one.
    """
    from dmlbench.inference.page import write_page

    model = _loaded(run, results, weights)
    gallery = model.gallery(folder).without(query)
    neighbors = gallery.nearest(model.embed([query])[0], k)
    output = output or _folder(results, model) / "search.html"
    title = f"{len(gallery.pictures)} pictures of {folder}, by {model.run}"
    write_page(query, neighbors, title, output)
    click.echo("rank  distance  picture")
    for place, each in enumerate(neighbors, start=1):
        click.echo(f"{place:4}  {each.distance:.4f}  {each.picture}")
    click.echo(f"with pictures: {output}")


@_of_a_run
@click.command()
@_RUN
@click.option(
    "--kind", default="safetensors", show_default=True, help="safetensors, torch or onnx."
)
@_OUTPUT
@_WEIGHTS
@_RESULTS
def export(run, kind, output, weights, results):
    """Write the network of RUN for other programs."""
    from dmlbench.inference.export import known_kind

    suffix, _ = known_kind(kind)
    model = _loaded(run, results, weights)
    output = output or _folder(results, model) / f"model{suffix}"
    click.echo(f"{kind}: {model.export(kind, output)}")


def _loaded(run: str, results: Path, weights: Path | None):
    from dmlbench.inference.find import run_folder
    from dmlbench.inference.model import load

    folder, said = run_folder(run, results)
    if said:
        click.echo(said)
    return load(folder, weights=weights)


def _folder(results: Path, model) -> Path:
    return results / "use" / model.run.stem
