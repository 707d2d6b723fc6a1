"""Rule neighbors: the worst queries of each run, and the images nearest to them."""

from dmlbench.job import job
from dmlbench.presentation.neighbors import write_neighbors

with job(snakemake):
    write_neighbors(output=snakemake.output[0], **snakemake.params.facts)
