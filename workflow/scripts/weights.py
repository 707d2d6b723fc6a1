"""Rule weights: a network's published weights, from a mirror or from where they are published."""

from dmlbench.data.download import mirrors
from dmlbench.job import job
from dmlbench.networks.weight_files import fetch_weights

with job(snakemake):
    fetch_weights(
        snakemake.params.weights,
        backbone=snakemake.params.backbone,
        **snakemake.params.sources,
        mirrors=mirrors(snakemake.config["data"]["mirrors"]),
        output=snakemake.output[0],
    )
