"""Rule aggregate: every score of a study, in one long table."""

from dmlbench.job import job
from dmlbench.statistics.aggregation import aggregate

with job(snakemake):
    aggregate(
        snakemake.params.rows,
        snakemake.input.scores,
        output=snakemake.output.scores,
        runs=snakemake.output.runs,
        tables=snakemake.input.tables,
    )
