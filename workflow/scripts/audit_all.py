"""Rule audit_all: the audits of all documents in one table."""

from dmlbench.job import job
from dmlbench.statistics.audit import audit_all

with job(snakemake):
    audit_all(snakemake.input, snakemake.output.csv, snakemake.output.md)
