"""Rule audit_document: the printed numbers of one document, checked by general rules."""

from dmlbench.job import job
from dmlbench.statistics.audit import audit

with job(snakemake):
    audit(snakemake.params.reference, snakemake.output.csv, snakemake.output.md)
