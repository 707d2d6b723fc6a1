"""A study of the user's images: what is written into a folder of the user's for it."""

import json
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dmlbench import registry
from dmlbench.errors import UserError, entry
from dmlbench.plan.catalogs.catalogues import Network
from dmlbench.plan.catalogs.choices import IDENTIFIER
from dmlbench.plan.catalogs.read import as_yaml
from dmlbench.plan.catalogs.recipes import Method
from dmlbench.plan.load import configuration_of, load, reload
from dmlbench.plan.new_studies import heads_on_images as heads
from dmlbench.plan.new_studies.new_files import write_checked
from dmlbench.plan.new_studies.templates import filled
from dmlbench.plan.specs.config_folder import RULES
from dmlbench.plan.specs.frozen import GIVEN
from dmlbench.plan.specs.plan import Plan
from dmlbench.program import path_of_user

_BATCH = 60
_IMAGES_PER_CLASS = 5
_FEWEST_CLASSES = 4
_KINDS = ("recipes", "studies", "broken")
_ANOTHER_NAME = "choose another one, for example: --name birds"


class Pictures(NamedTuple):
    """What is in a folder of images, or in a list of vectors.

    Attributes:
        folder: as given by the user; `~` is the home folder.
        layout: how its folders become classes.
        split: the rule that divides them.
        train: images of each class that trains.
        test: images of each class that is scored.
        options: of the layout.
        one_shape: whether all images have one shape, apart from their size.
        shown: whether there are images, for pages to show.
    """

    folder: str
    layout: str
    split: str
    train: Sequence[int]
    test: Sequence[int]
    options: Mapping[str, str] = {}
    one_shape: bool = True
    shown: bool = True


class Written(NamedTuple):
    """What was written.

    Attributes:
        study: its name.
        dataset: the data set, another study's if that is of the same folder.
        files: in the user's folder.
    """

    study: str
    dataset: str
    files: list[Path]


def write_study(
    config: Path,
    own: Path,
    name: str,
    network: str,
    pictures: Pictures,
    features_of: Callable[[Network], int],
    *,
    frozen: bool = False,
) -> Written:
    """Write a data set, a recipe and a study into a folder of their own, `own/<name>`.

    A folder of images is one data set, however often it is named: where another network already has
    a study of this name, this one is called `<name>_<network>` and shares the data set.

    Args:
        config: the configuration folder.
        own: where the user's folders are.
        name: of all three.
        network: an entry of networks.yaml.
        features_of: gives the number of features of an image.
        frozen: the network stays as it is and heads train on its features; an entry of the frozen
            network is written, too, into a folder of its own.

    Returns:
        What was written. If the new configuration does not load, nothing is left of it.

    Raises:
        UserError: a name that is taken or not an identifier, an unknown network, one without
            weights to be frozen, too few classes, no class with two images to score or to train on.
    """
    configuration = configuration_of(own)
    loaded = reload(configuration, config)
    _check_pictures(pictures)
    chosen = entry("network", network, loaded.networks)
    used = heads.frozen_name(network, chosen) if frozen else network
    dataset = _same_data(loaded, pictures)
    if dataset and name in loaded.files:
        name = f"{name}_{used}"
        if name in loaded.files:
            raise UserError(
                f"{loaded.files[name]}: is there already; to run it: dmlbench run {name}; to "
                f"remove it: dmlbench forget {name}"
            )
    _check_name(loaded, name, kinds=(*([] if dataset else ["datasets"]), *_KINDS))
    texts = {}
    if not dataset:
        dataset = name
        texts[own / name / "datasets.yaml"] = _dataset(name, pictures)
    if used not in loaded.networks:
        texts[own / used / "networks.yaml"] = heads.frozen_network(used, network, chosen)
    recipe = (
        heads.recipe(name, dataset, pictures.train)
        if frozen
        else _recipe(name, dataset, chosen, pictures)
    )
    texts[own / name / "recipes.yaml"] = recipe + _preferred_miners(loaded.methods)
    texts[own / name / "studies" / f"{name}.yaml"] = _study(
        name, dataset, used, chosen, features_of(chosen), pictures, frozen=frozen
    )
    write_checked(texts, own, lambda: load(configuration | {"studies": [name]}, config))
    return Written(name, dataset, list(texts))


def _same_data(loaded: Plan, pictures: Pictures) -> str | None:
    """The data set of the user that is these pictures in the same classes and split."""
    where, layout = path_of_user(pictures.folder).resolve(), _layout(pictures)
    for name, known in loaded.datasets.items():
        if known.folder and path_of_user(known.folder).resolve() == where:
            own = type(known).model_validate(known.model_dump() | {"layout": layout})
            if own.layout == known.layout and pictures.split in known.splits:
                return name
    return None


def _check_name(plan: Plan, name: str, kinds: Sequence[str]) -> None:
    if not re.fullmatch(IDENTIFIER, name):
        raise UserError(
            f"name {name!r}; allowed: a lower-case letter a to z, then such letters, digits and _; "
            f"{_ANOTHER_NAME}"
        )
    if name in RULES:
        raise UserError(f"name {name!r}: a rule of the workflow has it; {_ANOTHER_NAME}")
    for kind in kinds:
        if name in getattr(plan, kind):
            raise UserError(f"name {name!r}: is there under {kind}; {_ANOTHER_NAME}")


def _check_pictures(pictures: Pictures) -> None:
    for role in ("train", "test"):
        images = getattr(pictures, role)
        if len(images) < _FEWEST_CLASSES:
            all_classes = f", so {2 * _FEWEST_CLASSES} or more in all: half train, half test"
            raise UserError(
                f"{pictures.folder}: {len(images)} classes {role}; allowed: {_FEWEST_CLASSES} or "
                f"more{all_classes if pictures.split == 'half' else ''}"
            )
        if max(images) < 2:
            raise UserError(
                f"{pictures.folder}: each of the {len(images)} classes that {role} has one image; "
                "allowed: classes with two or more, so that an image has another one to find"
            )


def _layout(pictures: Pictures) -> str | dict:
    return {"name": pictures.layout, **pictures.options} if pictures.options else pictures.layout


def _dataset(name: str, pictures: Pictures) -> str:
    choice = _layout(pictures)
    written = json.dumps(choice, ensure_ascii=False) if pictures.options else choice
    return filled(
        "dataset",
        name=name,
        folder=json.dumps(pictures.folder, ensure_ascii=False),
        layout="" if choice == "class_folders" else f"  layout: {written}\n",
        split=pictures.split,
    )


def _recipe(name: str, dataset: str, network: Network, pictures: Pictures) -> str:
    """Fine-tuning of a pretrained network, or training from random weights."""
    batch = heads.batch_of(pictures.train, _BATCH, _IMAGES_PER_CLASS)
    return filled(
        "trained",
        name=name,
        dataset=dataset,
        verb="Fine-tuning" if network.weights else "Training",
        base="grocery" if network.weights else "glyphs",
        iterations=max(12, min(50, sum(pictures.train) // batch["batch"])),
        **batch,
        transforms=_transforms(network, one_shape=pictures.one_shape),
    )


def _preferred_miners(methods: Mapping[str, Method]) -> str:
    """Better options of miners than finished results of other recipes have, as part of a recipe."""
    preferred = {
        name: registry.preferred("miners", method.miner.name)
        for name, method in methods.items()
        if method.miner is not None
    }
    values = {name: {"miner": options} for name, options in preferred.items() if options}
    return textwrap.indent(as_yaml({"methods": values}, default_flow_style=None), "  ")


def _transforms(network: Network, *, one_shape: bool) -> str:
    """Half the packed pixels, so that a CPU suffices, or the size a transformer was trained with.

    Networks for small images use those of their recipe's base, which without weights has none.
    """
    if network.pixels <= heads.SMALL:
        whole = network.weights is not None or one_shape
        return "" if whole else filled("one_shape", size=network.pixels)
    full = 7 * network.pixels // 8
    size, comment = network.pixels // 2, f"Small, for a CPU; with a GPU rather {full}."
    if network.pooling == "token":
        size, comment = full, "All that its positions are for."
    return filled("crops", comment=comment, size=size, resized=8 * size // 7)


def _study(
    name: str,
    dataset: str,
    network_id: str,
    network: Network,
    features: int,
    pictures: Pictures,
    *,
    frozen: bool,
) -> str:
    """Raw features and three losses with three seeds; the answer is what training adds.

    Args:
        network_id: the entry of networks.yaml that learns, or whose features heads learn on.
        network: says title and weights.
        features: numbers per image; embeddings have as many, so that size differs nowhere.
        frozen: whether only heads learn.
    """
    start = "ImageNet's weights" if network.weights else "random weights"
    raw, first = f"features of {network.title}", f"{network.title} from {start}"
    learner = f"{first} learns"
    if network_id == GIVEN:
        raw, learner = "given features", "A head on the given features learns"
    elif frozen:
        learner = f"{network.title} with {start} stays as it is; a head on its features learns"
    return filled(
        "study",
        name=name,
        dataset=dataset,
        network=network_id,
        raw=raw,
        features=features,
        split=pictures.split,
        train=len(pictures.train),
        test=len(pictures.test),
        counts=(
            f"{sum(pictures.train):,} images of {len(pictures.train)} classes train, "
            f"{sum(pictures.test):,} of {len(pictures.test)} classes test"
        ),
        first=f"heads on the {raw}" if frozen else first,
        title=f"{'Heads' if frozen else 'Losses'} on {dataset}",
        learner=learner,
        untrained=", untrained" if network_id == GIVEN else "",
        maps=filled("maps") if pictures.shown else "",
    )
