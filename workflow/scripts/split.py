"""Rule split: the role and fold of every image."""

from dmlbench.data.split import split
from dmlbench.job import job

with job(snakemake):
    choice = dict(snakemake.params.rule)
    split(snakemake.input.index, rule=choice.pop("name"), output=snakemake.output[0], **choice)
