"""Rule draw: the archive of a generated data set."""

from dmlbench.data.generate import generate
from dmlbench.job import job

with job(snakemake):
    choice = dict(snakemake.params.generator)
    generate(
        choice.pop("name"),
        archives=snakemake.input.archives,
        output=snakemake.output[0],
        **choice,
    )
