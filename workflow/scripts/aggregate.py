"""Rule aggregate: every score of a study, in one long table."""

from dmlbench.job import job
from dmlbench.statistics.aggregation import aggregate
from dmlbench.statistics.classes import write_classes

with job(snakemake):
    aggregate(
        snakemake.params.rows,
        snakemake.input.scores,
        output=snakemake.output.scores,
        runs=snakemake.output.runs,
        tables=snakemake.input.tables,
    )
    write_classes(
        snakemake.params.over_splits, snakemake.input.queries, output=snakemake.output.classes
    )
