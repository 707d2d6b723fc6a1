"""Rule claims_all: the verdicts on the claims of all papers in one table."""

from dmlbench.job import job
from dmlbench.statistics.claims.summary import claims_of_all

with job(snakemake):
    claims_of_all(snakemake.input, snakemake.output.csv, snakemake.output.md)
