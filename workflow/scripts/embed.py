"""Rule embed: the test images of a run, as vectors."""

from dmlbench.job import job
from dmlbench.training.export import export_embeddings
from dmlbench.training.gpus import gpu_lease

with job(snakemake), gpu_lease(snakemake.config["device"], snakemake.config["runs_per_gpu"]):
    export_embeddings(
        snakemake.params.spec,
        **dict(snakemake.input.items()),
        device=snakemake.config["device"],
        threads=snakemake.threads,
        output=snakemake.output[0],
    )
