"""Rule report: all studies on one page."""

from dmlbench.job import job
from dmlbench.presentation.report import report

with job(snakemake):
    report(snakemake.params.pages, snakemake.output[0])
