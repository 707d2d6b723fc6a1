"""The command `new`: a study of a folder of the user's images."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import click

from dmlbench.command.types import PATH
from dmlbench.command.workflow import home


@click.command()
@click.argument("folder")
@click.option("--name", help="Of the study; default: that of the folder.")
@click.option("--network", show_default="resnet18", help="What learns, or is frozen.")
@click.option(
    "--frozen/--train",
    default=False,
    show_default="train",
    help="Only train heads on the network's features, or all of it.",
)
@click.option(
    "--layout", default="class_folders", show_default=True, help="How folders become classes."
)
@click.option("--list", "listed", help="CSV or Parquet in FOLDER that names the classes.")
@click.option("--labels", type=PATH, help="CSV or Parquet with the classes of features.")
@click.option("--path", help="The list's column of images; default: path.")
@click.option("--label", help="The list's column of classes; default: label.")
@click.option("--box", help="The list's column of boxes: left, top, right, bottom.")
@click.option("--group", help="The list's column of groups that a split keeps together.")
def new(folder, name, network, frozen, layout, listed, labels, path, label, box, group):
    """Make a study of the images in FOLDER.

    FOLDER has a folder for each class, or is a zip or tar of them; --layout and --list are for
    others. Or it is a file of features that another program has computed: Parquet with a column of
    lists and one of labels, or .npy with --labels; heads learn on them.

    What is written is yours: `own/<name>`, which git ignores. A second call with another network
    adds a study of the same data set.
    """
    from dmlbench.plan.new_studies.new_study import write_study
    from dmlbench.program import path_of_user

    named = {"path": path, "label": label, "box": box, "group": group}
    columns = {option: column for option, column in named.items() if column}
    name = name or re.sub(r"\W+", "_", path_of_user(folder).resolve().stem.lower())
    source = _source(folder, network, frozen, layout, listed, labels, columns)
    workflow = home()
    if workflow != Path.cwd() and not path_of_user(source.folder).is_absolute():
        source = source._replace(folder=str(path_of_user(source.folder).absolute()))
    pictures, lines = surveyed(source.folder, source.layout, source.options)
    written = write_study(
        workflow / "config",
        workflow / "own",
        name,
        source.network,
        pictures,
        source.width_of,
        frozen=source.frozen,
    )
    _say(written, pictures, lines, source, workflow)


class _Source(NamedTuple):
    """What a study is made of: images and what learns on them, or features."""

    folder: str
    layout: str
    options: dict[str, str]
    network: str
    frozen: bool
    width_of: Callable[..., int]


def _source(folder, network, frozen, layout, listed, labels, columns) -> _Source:
    """Images in class folders, images that a list names, or a file of features."""
    from dmlbench.command.given_features import has_features, read_given
    from dmlbench.errors import UserError
    from dmlbench.plan.specs.frozen import GIVEN, VECTORS
    from dmlbench.program import path_of_user

    where = path_of_user(folder)
    if has_features(where):
        if network or frozen or listed:
            raise UserError(f"{folder}: features; allowed with images: --network, --frozen, --list")
        given = read_given(where, labels, columns)
        return _Source(given.folder, VECTORS, given.options, GIVEN, True, lambda _: given.width)
    if labels:
        raise UserError(f"--labels {labels}: {folder} is not a file of features; allowed: --list")
    if columns and not listed:
        raise UserError(f"--{min(columns)} names a column of a list; allowed with --list")
    if listed:
        layout, columns = "listed", {"file": listed} | columns
    return _Source(folder, layout, columns, network or "resnet18", frozen, features_of)


def _say(written, pictures, account: dict[str, str], source: _Source, workflow: Path) -> None:
    """What was found and written, and what comes next."""
    from dmlbench.plan.specs.frozen import GIVEN

    counts = [(sum(each), len(each)) for each in (pictures.train, pictures.test)]
    words = [f"{images:,} images of {classes} classes" for images, classes in counts]
    click.echo(f"{source.folder}: {words[0]} train, {words[1]} test")
    for label, text in account.items():
        click.echo(f"  {label}: {text}")
    if written.dataset != written.study:
        click.echo(f"the data set is that of {written.dataset}")
    click.echo(f"written: {' '.join(os.path.relpath(file, workflow) for file in written.files)}")
    if source.network != GIVEN:
        others = [each for each in pretrained(workflow / "config") if each != source.network]
        click.echo(f"other pretrained networks (--network): {', '.join(others)}")
    click.echo(f"before any training:     dmlbench raw {written.study}")
    click.echo(f"what the rest will take: dmlbench plan {written.study}")
    click.echo(f"trained and reported:    dmlbench run {written.study}")


def surveyed(folder: str, layout: str, options: dict[str, str] | None = None):
    """What is in a folder of images, or in a zip or tar of it (`Pictures`), and the account."""
    from dmlbench import registry
    from dmlbench.data.account import account
    from dmlbench.data.archives import Archive
    from dmlbench.data.index import described
    from dmlbench.data.splits._classes import TEST
    from dmlbench.errors import UserError
    from dmlbench.image_folder import IMAGE_SUFFIXES
    from dmlbench.plan.new_studies.new_study import Pictures
    from dmlbench.program import path_of_user

    with Archive(path_of_user(folder)) as archive:
        rows = registry.build("data/layouts", layout, **(options or {}))([archive])
        rows, findings = described(rows, [archive])
    if rows.empty:
        raise UserError(
            f"{folder}: no image found with the layout {layout}; allowed: files that end in "
            f"{', '.join(IMAGE_SUFFIXES)} (.heic: convert them to .jpg)"
        )
    split = "half"
    if set(rows["subset"]) != {"all"}:
        # Queries and the gallery that they search are one role: they share their classes.
        roles = rows["subset"].replace(dict.fromkeys(TEST, "test"))
        shared = roles.groupby(rows["label"]).nunique().max() > 1
        split = "official_closed" if shared else "official"
    rows.insert(0, "image_id", range(len(rows)))
    roles = registry.build("data/splits", split)(rows)
    counts = roles.merge(rows, on="image_id").groupby(["role", "label"]).size()
    test = [role for role in ("test", "query", "gallery") if role in counts.index]
    tested = counts.loc[test].groupby("label").sum()
    trained = counts.loc["train"] if "train" in counts.index else []
    shapes = rows["width"] / rows["height"]
    pictures = Pictures(
        folder,
        layout,
        split,
        list(trained),
        list(tested),
        options or {},
        one_shape=shapes.nunique() == 1,
        shown=bool(findings["depths"]),
    )
    return pictures, account(rows, roles, findings)


def pretrained(config: Path) -> list[str]:
    """The networks whose weights are published at an address or in a package."""
    from dmlbench.plan.catalogs.read import read_mapping

    return [
        name
        for name, each in read_mapping(config / "networks.yaml").items()
        if each.get("weights", {}).keys() & {"urls", "package"} and "frozen" not in each
    ]


def features_of(network) -> int:
    """Numbers per image of a network's pooled features."""
    from dmlbench.networks.embedder import Extractor

    return Extractor(network).width


@click.command("add-network")
@click.argument("model")
@click.option("--name", help="Of the entry; default: the model's.")
@click.option("--size", type=click.IntRange(min=1), help="Side of images; default: the model's.")
@click.option("--weights", type=PATH, help="A file of weights; default: the published ones.")
def add_network(model, name, size, weights):
    """Add a MODEL of timm or torchvision to your networks.

    MODEL is timm/<name> or torchvision/<name>.
    """
    from dmlbench.errors import UserError
    from dmlbench.networks.entry import as_text, entry_of
    from dmlbench.networks.work import as_text as work_as_text
    from dmlbench.networks.work import work_of
    from dmlbench.plan.catalogs.catalogues import Network
    from dmlbench.plan.catalogs.choices import IDENTIFIER
    from dmlbench.plan.load import configuration_of, reload

    workflow = home()
    name = name or re.sub(r"\W+", "_", model.partition("/")[2].lower())
    own = workflow / "own"
    known = reload(configuration_of(own), workflow / "config")
    if not re.fullmatch(IDENTIFIER, name) or name in known.networks or (own / name).exists():
        raise UserError(f"--name {name}; allowed: a new name of letters a to z, digits and _")
    values = entry_of(model, size, weights)
    network, text = Network.model_validate(values), as_text(name, values)
    # A recipe crops 7/8 of the packed pixels.
    work = work_of(network, 7 * network.pixels // 8)
    (own / name).mkdir(parents=True)
    (own / name / "networks.yaml").write_text(text, encoding="utf-8")
    (own / name / "costs.yaml").write_text(work_as_text(name, work), encoding="utf-8")
    click.echo(text, nl=False)
    click.echo(f"written: own/{name}; next: dmlbench new FOLDER --network {name} --frozen")


@click.command("add-loss")
@click.argument("name")
def add_loss(name):
    """Add a loss of your own, to be edited.

    NAME is that of the loss: it is trained with where a study lists it among its methods.
    """
    from dmlbench.plan.new_studies.new_loss import add_loss as write

    workflow = home()
    loss, method = write(workflow / "config", workflow / "own", name)
    click.echo(f"written: {os.path.relpath(loss, workflow)} {os.path.relpath(method, workflow)}")
    click.echo(f"the equation:         edit {os.path.relpath(loss, workflow)}")
    click.echo(f"in a study of yours:  method: [contrastive, {name}], then dmlbench run STUDY")
    click.echo(f"in a published study: dmlbench extend STUDY {name}")
