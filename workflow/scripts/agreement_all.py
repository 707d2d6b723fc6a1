"""Rule agreement_all: the verdicts of all papers in one table."""

from dmlbench.job import job
from dmlbench.statistics.agreement import agreement_of_all

with job(snakemake):
    agreement_of_all(snakemake.input, snakemake.output.csv, snakemake.output.md)
