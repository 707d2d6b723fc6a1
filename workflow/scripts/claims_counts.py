"""Rule claims: print how many claims have which verdict, and where the rest is."""

from dmlbench.job import job, print_on_terminal
from dmlbench.statistics.claims.summary import counted

with job(snakemake):
    print_on_terminal(counted(snakemake.input.csv, snakemake.input.md))
