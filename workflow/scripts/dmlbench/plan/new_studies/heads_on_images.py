"""Heads on the features of a frozen network: its entry and the recipe of a user's study."""

from collections.abc import Sequence

from dmlbench.errors import UserError
from dmlbench.plan.catalogs.catalogues import Network
from dmlbench.plan.catalogs.read import as_yaml
from dmlbench.plan.new_studies.templates import filled

_BATCH = 128
_IMAGES_PER_CLASS = 4
SMALL = 160
"""Pixels up to which networks take whole images; others are trained on 7/8 of them."""


def frozen_name(name: str, network: Network) -> str:
    """The entry of networks.yaml that is the network, frozen: itself if it is.

    Raises:
        UserError: a network without weights.
    """
    if network.frozen is not None:
        return name
    if network.weights is None:
        raise UserError(
            f"network {name}: it has no pretrained weights, so its features say nothing; allowed "
            "with --frozen: one that has"
        )
    return f"{name}_frozen"


def frozen_network(frozen: str, name: str, network: Network) -> str:
    """The frozen network's entry of networks.yaml: all that a center crop shows, once."""
    size = network.pixels if network.pixels <= SMALL else 7 * network.pixels // 8
    values = {"title": f"{network.title}, frozen"}
    values |= network.model_dump(mode="json", exclude_defaults=True, exclude={"title"})
    values["frozen"] = [{"name": "center_crop", "size": size}]
    written = as_yaml({frozen: values}, width=100, allow_unicode=True)
    return f"# {name} as it is: only heads learn, on its features.\n{written}"


def batch_of(train: Sequence[int], most: int, per_class: int) -> dict[str, int]:
    """A batch that fits classes, each of `train` images: its classes, images of each, and size."""
    per_class = max(2, min(per_class, sorted(train)[len(train) // 2]))
    classes = min(most // per_class, len(train))
    return {"classes": classes, "per_class": per_class, "batch": classes * per_class}


def recipe(name: str, dataset: str, train: Sequence[int]) -> str:
    """Heads with batches that fit the classes, each of them with `train` images."""
    batch = batch_of(train, _BATCH, _IMAGES_PER_CLASS)
    return filled("heads", name=name, dataset=dataset, **batch)
