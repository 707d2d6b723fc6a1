"""Heads on the features of a frozen network: its entry and the recipe of a user's study."""

from collections.abc import Sequence

from dmlbench.errors import UserError
from dmlbench.plan.catalogues import Network
from dmlbench.plan.read import as_yaml

_BATCH = 128
_IMAGES_PER_CLASS = 4
_SMALL = 160
"""Pixels up to which networks take whole images; others are trained on 7/8 of them."""


def frozen_name(name: str, network: Network) -> str:
    """The entry of networks.yaml that is the network, frozen: itself if it is.

    Raises:
        UserError: a network without weights.
    """
    if network.weights is None:
        raise UserError(
            f"network {name}: it has no pretrained weights, so its features say nothing; allowed "
            "with FROZEN=1: one that has"
        )
    return name if network.frozen is not None else f"{name}_frozen"


def frozen_network(frozen: str, name: str, network: Network) -> str:
    """The frozen network's entry of networks.yaml: all that a center crop shows, once."""
    size = network.pixels if network.pixels <= _SMALL else 7 * network.pixels // 8
    values = network.model_dump(mode="json", exclude_defaults=True)
    values["title"] = f"{network.title}, frozen"
    values["frozen"] = [{"name": "center_crop", "size": size}]
    written = as_yaml({frozen: values}, width=100, allow_unicode=True)
    return f"# {name} as it is: only heads learn, on its features.\n{written}"


def recipe(name: str, train: Sequence[int]) -> str:
    """Heads with batches that fit the classes, each of them with `train` images."""
    per_class = max(2, min(_IMAGES_PER_CLASS, sorted(train)[len(train) // 2]))
    classes = min(_BATCH // per_class, len(train))
    sampler = f"{{name: class_balanced, images_per_class: {per_class}}}"
    return f"""\
# Batches of {classes} classes x {per_class} images; no test label chooses an epoch.
{name}:
  title: Heads on {name}
  base: heads
  batch_size: {classes * per_class}
  sampling: {{random: {sampler}, balanced: {sampler}}}
"""
