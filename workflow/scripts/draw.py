"""Rule draw: the archive of a data set that is drawn on the spot."""

from dmlbench.data.generate import generate
from dmlbench.job import job

with job(snakemake):
    choice = dict(snakemake.params.generator)
    generate(choice.pop("name"), output=snakemake.output[0], **choice)
