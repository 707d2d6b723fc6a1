"""Rule claims_document: a verdict on every claim of one paper."""

from dmlbench.job import job
from dmlbench.presentation.texts import REHEARSAL
from dmlbench.statistics.claims import claims

with job(snakemake):
    claims(
        snakemake.params.folder,
        snakemake.params.rows,
        snakemake.input.scores,
        tables=snakemake.input.tables,
        stand_ins=dict(zip(snakemake.params.stand_ins, snakemake.input.stand_ins, strict=True)),
        note=REHEARSAL if snakemake.params.rehearsal else "",
        output=snakemake.output[0],
    )
