"""Rule index: one row an image, read from the archives where they lie."""

from dmlbench.data.index import index
from dmlbench.job import job

with job(snakemake):
    index(
        snakemake.input.archives,
        layout=snakemake.params.layout,
        **snakemake.params.counts,
        output=snakemake.output[0],
    )
