"""Rule search: the trials of a search in one table, and the best of them."""

from dmlbench.job import job
from dmlbench.search.outcome import finalize

with job(snakemake):
    finalize(
        snakemake.params.name,
        snakemake.params.facts,
        folder=snakemake.params.folder,
        **dict(snakemake.output.items()),
    )
