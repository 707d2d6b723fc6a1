"""Rule certificate: published runs that were trained again, next to their published scores."""

from pathlib import Path

from dmlbench.job import job
from dmlbench.presentation.certificate import write_certificate

with job(snakemake):
    facts = dict(snakemake.params.facts)
    write_certificate(
        facts.pop("rows"),
        snakemake.input.scores,
        snakemake.input.histories,
        facts,
        published=Path(snakemake.input.published[0]).parent,
        csv=Path(snakemake.output.csv),
        md=Path(snakemake.output.md),
    )
