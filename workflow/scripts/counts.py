"""Rules audit, agreement, claims: print how many there are of each kind, and where the rest is."""

from dmlbench.job import job, print_on_terminal
from dmlbench.statistics import agreement, audit
from dmlbench.statistics.claims import summary as claims

COUNTED = {"audit": audit.counted, "agreement": agreement.counted, "claims": claims.counted}

with job(snakemake):
    print_on_terminal(COUNTED[snakemake.rule](snakemake.input.csv, snakemake.input.md))
