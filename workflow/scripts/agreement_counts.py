"""Rule agreement: print how many printed numbers have which verdict, and where the rest is."""

import sys

from dmlbench.job import job
from dmlbench.statistics.agreement import counted

with job(snakemake):
    lines = counted(snakemake.input.csv, snakemake.input.md)
    print("\n".join(lines), file=sys.__stdout__)
