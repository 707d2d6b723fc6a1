"""The text of a study of the user's images: what does training add, and which loss embeds best?"""

from typing import Any

from dmlbench.plan.catalogues import Network


def study(
    name: str, network_id: str, network: Network, features: int, pictures: Any, *, frozen: bool
) -> str:
    """Raw features and three losses with three seeds; the answer is what training adds.

    Args:
        name: of data set, recipe and study.
        network_id: the entry of networks.yaml that learns, or whose features heads learn on.
        network: says title and weights.
        features: numbers per image; embeddings have as many, so that size differs nowhere.
        pictures: what is in the folder (`new_study.Pictures`).
        frozen: whether only heads learn.
    """
    start = "ImageNet's weights" if network.weights else "random weights"
    first = f"{network.title} from {start}"
    learner = f"{first} learns"
    title = f"Losses on {name}"
    if frozen:
        first = f"heads on the features of {network.title}, computed once"
        title = f"Heads on {name}"
        learner = f"{network.title} with {start} stays as it is; a head on its features learns"
    return f"""\
# {sum(pictures.train):,} images of {len(pictures.train)} classes train, {sum(pictures.test):,} of \
{len(pictures.test)} classes test; {first}.
#
#   snakemake --cores all {name}_table_raw     the network's features, before any training
#   snakemake --cores all {name}               everything, and results/report.html
#   snakemake {name} -nq                       what that will take
title: {title}
question: What does training add to the features of {network.title} on {name}, and with which loss?
description: >-
  {learner} {len(pictures.train)} classes of {name} and is scored on {len(pictures.test)} (split
  {pictures.split}), in the epoch in which training ends: no test label chooses anything. Raw
  features are the network's before any training, without a further layer. All losses share one
  learning rate.

runs:
  - dataset: {name}
    network: {network_id}
    embedding_dim: {features}
    method: [raw_features, contrastive, multi_similarity, proxy_anchor]
    recipe: {name}
    split: {pictures.split}
    seed: [0, 1, 2]    # 0 alone takes a third of the time, and gives no interval

tournament:
  metric: recall_at_1

answer: [gain]

tables:
  raw:
    title: Retrieval by the features as they are
    kind: &scores {{name: scores_by_method, metrics: [recall_at_1, r_precision, map_at_r]}}
    where: {{method: raw_features, seed: 0}}
  gain:
    title: Trained less raw features, seed by seed
    kind:
      name: paired_differences
      between: method
      against: raw_features
      metrics: [recall_at_1, r_precision, map_at_r]
  retrieval:
    title: Retrieval of unseen images
    kind: *scores

figures:
  recall_at_k:
    title: Recall@k by loss
    kind:
      name: recall_by_method
      metrics: [recall_at_1, recall_at_2, recall_at_4, recall_at_8]
      embedding_dim: {features}

embedding_maps:
  unseen:
    title: Images that were not trained on, without and with training
    where: {{method: [raw_features, proxy_anchor], seed: 0}}
"""
