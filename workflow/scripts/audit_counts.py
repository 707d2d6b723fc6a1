"""Rule audit: print how many defects each document has, and where they are listed."""

import sys

from dmlbench.job import job
from dmlbench.statistics.audit import counted

with job(snakemake):
    print("\n".join(counted(snakemake.input.csv, snakemake.input.md)), file=sys.__stdout__)
