"""Rule report: all studies on one page."""

from dmlbench.job import job
from dmlbench.presentation.report import report
from dmlbench.provenance import check

with job(snakemake):
    # Files of studies that this call has not requested are no inputs.
    for _, files in snakemake.params.as_they_are.values():
        for file in files:
            check(file)
    report(snakemake.params.pages, snakemake.output[0])
