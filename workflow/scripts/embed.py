"""Rule embed: the test images of a run, as vectors."""

from dmlbench.job import job
from dmlbench.training.export import export_embeddings

with job(snakemake):
    export_embeddings(
        snakemake.params.spec,
        **dict(snakemake.input.items()),
        device=snakemake.config["device"],
        threads=snakemake.threads,
        output=snakemake.output[0],
    )
