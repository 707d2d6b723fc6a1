"""Rule pack: every image decoded and resized once."""

from dmlbench.data.pack import pack
from dmlbench.job import job

with job(snakemake):
    pack(
        snakemake.input.index,
        archives=snakemake.input.archives,
        size=int(snakemake.wildcards.size),
        mode=snakemake.wildcards.mode,
        pixels=snakemake.output.pixels,
        table=snakemake.output.table,
        threads=snakemake.threads,
        reduced_to=snakemake.params.reduced_to,
    )
