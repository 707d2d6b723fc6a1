"""Rule weights: a network's published weights, from a mirror or from where they are published."""

import os

from dmlbench.data.download import download
from dmlbench.job import job

with job(snakemake):
    weights = snakemake.params.weights
    mirror = os.environ.get("DMLBENCH_MIRROR")
    download(
        name=weights["file"],
        dataset="weights",
        urls=weights["urls"],
        bytes=weights["bytes"],
        sha256=weights["sha256"],
        mirrors=[*([mirror] if mirror else []), *snakemake.config["data"]["mirrors"]],
        mirror_sha256=[],
        output=snakemake.output[0],
    )
