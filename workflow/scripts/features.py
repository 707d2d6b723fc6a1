"""Rule features: pooled features of all images, by a frozen network."""

from dmlbench.job import job
from dmlbench.training.extraction import extract_features
from dmlbench.training.gpus import gpu_lease

with job(snakemake), gpu_lease(snakemake.config["device"], snakemake.config["runs_per_gpu"]):
    extract_features(
        snakemake.params.network,
        **dict(snakemake.input.items()),
        device=snakemake.config["device"],
        threads=snakemake.params.threads,
        output=snakemake.output[0],
    )
