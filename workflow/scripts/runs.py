"""Rule run_browser: all runs of a study on one page, with details of each."""

from dmlbench.job import job
from dmlbench.presentation.runs import write_runs

with job(snakemake):
    write_runs(
        output=snakemake.output[0],
        neighbors=snakemake.input.neighbors,
        **snakemake.params.facts,
    )
