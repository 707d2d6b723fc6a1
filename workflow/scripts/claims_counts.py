"""Rule claims: print how many claims have which verdict, and where the rest is."""

import sys

from dmlbench.job import job
from dmlbench.statistics.claims.summary import counted

with job(snakemake):
    print("\n".join(counted(snakemake.input.csv, snakemake.input.md)), file=sys.__stdout__)
