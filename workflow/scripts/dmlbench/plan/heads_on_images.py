"""A study of the user's images whose network stays as it is: heads on its features."""

from collections.abc import Sequence
from typing import Any

import yaml

from dmlbench.errors import UserError
from dmlbench.plan.catalogues import Network

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
    written = yaml.safe_dump({frozen: values}, sort_keys=False, width=100, allow_unicode=True)
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


def study(name: str, network_id: str, title: str, features: int, pictures: Any) -> str:
    """The study: raw features, an untrained head and three losses, with three seeds.

    Args:
        name: of data set, recipe and study.
        network_id: the frozen network's entry.
        title: of the network.
        features: numbers per image; heads have as many outputs, so that size differs nowhere.
        pictures: what is in the folder.
    """
    return f"""\
# {sum(pictures.train):,} images of {len(pictures.train)} classes train, {sum(pictures.test):,} of \
{len(pictures.test)} classes test; heads on the features of {title}, computed once.
#
#   snakemake --cores all {name}_table_raw     the features as they are, before any training
#   snakemake --cores all {name}               everything, and results/report.html
#   snakemake {name} -nq                       what that will take
title: Heads on {name}
question: What does training add to the features of {title} on {name}, and with which loss?
description: >-
  {title} with ImageNet's weights stays as it is. Heads with as many outputs as it has features
  learn {len(pictures.train)} classes of {name} and are scored on {len(pictures.test)} (split
  {pictures.split}), in the epoch in which training ends: no test label chooses anything. Raw
  features are scored without a head; Untrained is a head as it was drawn. All losses share one
  learning rate.

runs:
  - dataset: {name}
    network: {network_id}
    embedding_dim: {features}
    method: [raw_features, untrained, contrastive, multi_similarity, proxy_anchor]
    recipe: {name}
    split: {pictures.split}
    seed: [0, 1, 2]

answer: [gain]

tables:
  raw:
    title: Retrieval by the features as they are
    kind: &scores {{name: scores_by_method, metrics: [recall_at_1, r_precision, map_at_r]}}
    where: {{method: raw_features, seed: 0}}
  gain:
    title: Heads less raw features, seed by seed
    kind:
      name: paired_differences
      between: method
      against: raw_features
      metrics: [recall_at_1, r_precision, map_at_r]
    where: {{method: [raw_features, contrastive, multi_similarity, proxy_anchor]}}
  retrieval:
    title: Retrieval of unseen images
    kind: *scores

{figures(features, "raw_features", "without and with training")}"""


def figures(size: int, first: str, how: str) -> str:
    """The figures of a study of images: recall, and maps of the first method and a trained one."""
    return f"""\
figures:
  recall_at_k:
    title: Recall@k by loss
    kind:
      name: recall_by_method
      metrics: [recall_at_1, recall_at_2, recall_at_4, recall_at_8]
      embedding_dim: {size}

embedding_maps:
  unseen:
    title: Images that were not trained on, {how}
    where: {{method: [{first}, proxy_anchor], seed: 0}}
"""
