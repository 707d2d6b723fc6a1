"""Rule figure: one figure of a study, in all formats."""

from dmlbench.job import job
from dmlbench.presentation.view_files import write_figure

with job(snakemake):
    write_figure(
        snakemake.input.scores,
        snakemake.params.facts,
        board=snakemake.input.board,
        printed=snakemake.input.printed,
        tables=snakemake.input.tables,
        arrays=snakemake.input.arrays,
        **dict(snakemake.output.items()),
    )
