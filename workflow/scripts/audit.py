"""Rule audit: the printed numbers of a study, checked by arithmetic."""

from dmlbench.job import job
from dmlbench.statistics.audit import audit

with job(snakemake):
    audit(snakemake.params.reference, snakemake.output.csv, snakemake.output.md)
