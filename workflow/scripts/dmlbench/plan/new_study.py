"""A study of the user's images: what is written into the configuration for it."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dmlbench.errors import UserError, entry
from dmlbench.plan import heads_on_images as heads
from dmlbench.plan.catalogues import Network
from dmlbench.plan.choices import IDENTIFIER
from dmlbench.plan.config_folder import RULES
from dmlbench.plan.load import load, reload
from dmlbench.plan.plan import Plan
from dmlbench.plan.study_of_images import study

_BATCH = 60
_IMAGES_PER_CLASS = 5
_FEWEST_CLASSES = 4
_ANOTHER_NAME = "choose another one, for example: make study FOLDER=... NAME=birds"
_SMALL = 160
"""Pixels of the networks for which the base recipes have crops."""


class Pictures(NamedTuple):
    """What is in a folder of images.

    Attributes:
        folder: as given by the user; `~` is the home folder.
        layout: how its folders become classes.
        split: the rule that divides them.
        train: images of each class that trains.
        test: images of each class that is scored.
        options: of the layout.
    """

    folder: str
    layout: str
    split: str
    train: Sequence[int]
    test: Sequence[int]
    options: Mapping[str, str] = {}


def write_study(
    config: Path,
    name: str,
    network: str,
    pictures: Pictures,
    features_of: Callable[[Network], int],
    *,
    frozen: bool = False,
) -> list[Path]:
    """Write a data set, a recipe and a study into a configuration folder.

    Args:
        name: of all three.
        network: an entry of networks.yaml.
        features_of: gives the number of features of an image.
        frozen: the network stays as it is and heads train on its features; an entry of the frozen
            network is written, too.

    Returns:
        The files that were changed or written. If the new configuration does not load, it is
        restored.

    Raises:
        UserError: a name that is taken or not an identifier, an unknown network, one without
            weights to be frozen, too few classes, no class with two images to score or to train on.
    """
    loaded = reload({"pathvars": {"results": "results"}}, config)
    _check(loaded, name, pictures)
    chosen = entry("network", network, loaded.networks)
    texts, used = {}, network
    if frozen:
        used, recipe = heads.frozen_name(network, chosen), heads.recipe(name, pictures.train)
        if used not in loaded.networks:
            added = heads.frozen_network(used, network, chosen)
            texts[config / "networks.yaml"] = _added(config / "networks.yaml", added)
    else:
        recipe = _recipe(name, chosen, pictures)
    text = study(name, used, chosen, features_of(chosen), pictures, frozen=frozen)
    texts |= {
        config / "datasets.yaml": _added(config / "datasets.yaml", _dataset(name, pictures)),
        config / "recipes.yaml": _added(config / "recipes.yaml", recipe),
        config / "studies" / f"{name}.yaml": text,
    }
    before = {path: path.read_text() for path in texts if path.exists()}
    for path, text in texts.items():
        path.write_text(text)
    try:
        load({"pathvars": {"results": "results"}, "studies": [name]}, config)
    except UserError:
        for path in texts:
            if path in before:
                path.write_text(before[path])
            else:
                path.unlink()
        raise
    return list(texts)


def _check(plan: Plan, name: str, pictures: Pictures) -> None:
    if not re.fullmatch(IDENTIFIER, name):
        raise UserError(
            f"name {name!r}; allowed: a lower-case letter a to z, then such letters, digits and _; "
            f"{_ANOTHER_NAME}"
        )
    if name in RULES:
        raise UserError(f"name {name!r}: a rule of the workflow has it; {_ANOTHER_NAME}")
    for kind in ("datasets", "recipes", "studies", "broken"):
        if name in getattr(plan, kind):
            raise UserError(f"name {name!r}: {plan.folder} has it under {kind}; {_ANOTHER_NAME}")
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


def _added(path: Path, text: str) -> str:
    return f"{path.read_text().rstrip()}\n\n{text}"


def _dataset(name: str, pictures: Pictures) -> str:
    choice = {"name": pictures.layout, **pictures.options} if pictures.options else pictures.layout
    written = json.dumps(choice, ensure_ascii=False) if pictures.options else choice
    layout = "" if choice == "class_folders" else f"  layout: {written}\n"
    return f"""\
{name}:
  title: {name}
  folder: {json.dumps(pictures.folder, ensure_ascii=False)}
{layout}  splits: {{{pictures.split}: {pictures.split}}}
  metrics: [recall_at_1, recall_at_2, recall_at_4, recall_at_8, r_precision, map_at_r]
"""


def _recipe(name: str, network: Network, pictures: Pictures) -> str:
    """Fine-tuning of a pretrained network, or training from random weights."""
    sampled = sorted(pictures.train)[len(pictures.train) // 2]
    per_class = max(2, min(_IMAGES_PER_CLASS, sampled))
    batch = per_class * min(_BATCH // per_class, len(pictures.train))
    base = "grocery" if network.weights else "glyphs"
    iterations = max(12, min(50, sum(pictures.train) // batch))
    return f"""\
# Batches of {batch // per_class} classes x {per_class} images; no test label chooses an epoch.
{name}:
  title: {"Fine-tuning" if network.weights else "Training"} on {name}
  base: {base}
  epochs: 8
  iterations_per_epoch: {iterations}
  batch_size: {batch}
  sampling:
    random: {{name: class_balanced, images_per_class: {per_class}}}
    balanced: {{name: class_balanced, images_per_class: {per_class}}}
{_transforms(network)}  evaluate_every: 8
  selection: last_epoch
"""


def _transforms(network: Network) -> str:
    """Half the packed pixels, so that a CPU suffices, or the size a transformer was trained with.

    Networks for small images use those of their recipe's base.
    """
    if network.pixels <= _SMALL:
        return ""
    full = 7 * network.pixels // 8
    size, comment = network.pixels // 2, f"Small, for a CPU; with a GPU rather {full}."
    if network.pooling == "token":
        size, comment = full, "All that its positions are for."
    return f"""\
  # {comment}
  transforms:
    train:
      - {{name: random_resized_crop, size: {size}, scale: [0.3, 1.0]}}
      - random_horizontal_flip
    test: [{{name: resize, size: {8 * size // 7}}}, {{name: center_crop, size: {size}}}]
"""
