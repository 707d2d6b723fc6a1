"""Rule table: one table of a study, in all formats."""

from dmlbench.job import job
from dmlbench.presentation.view_files import write_table

with job(snakemake):
    write_table(
        snakemake.input.scores,
        snakemake.params.facts,
        queries=snakemake.input.queries,
        board=snakemake.input.board,
        printed=snakemake.input.printed,
        trials=snakemake.input.trials,
        tables=snakemake.input.tables,
        **dict(snakemake.output.items()),
    )
