"""Rule audit: print how many defects each document has, and where they are listed."""

from dmlbench.job import job, print_on_terminal
from dmlbench.statistics.audit import counted

with job(snakemake):
    print_on_terminal(counted(snakemake.input.csv, snakemake.input.md))
