"""Rule weights: a network's published weights, from a mirror or their published address."""

from dmlbench.data.download import download, mirrors
from dmlbench.job import job

with job(snakemake):
    weights = snakemake.params.weights
    download(
        name=weights["file"],
        dataset="weights",
        **snakemake.params.sources,
        bytes=weights["bytes"],
        sha256=weights["sha256"],
        mirrors=mirrors(snakemake.config["data"]["mirrors"]),
        mirror_sha256=[],
        output=snakemake.output[0],
    )
