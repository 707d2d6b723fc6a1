"""Rule index: one row per image, read from the archives in place."""

from dmlbench.data.index import index
from dmlbench.job import job

with job(snakemake):
    index(
        snakemake.input.archives,
        layout=snakemake.params.layout,
        **snakemake.params.expected,
        output=snakemake.output[0],
    )
