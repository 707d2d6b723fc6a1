"""Rule split: the role and fold of every image."""

from dmlbench.data.split import split
from dmlbench.job import job
from dmlbench.plan.catalogs.identity import current

with job(snakemake):
    choice = dict(current("data/splits", dict(snakemake.params.rule)))
    split(snakemake.input.index, rule=choice.pop("name"), output=snakemake.output[0], **choice)
