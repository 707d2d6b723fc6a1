"""Rule agreement_document: a verdict for every printed number of one paper."""

from dmlbench.job import job
from dmlbench.presentation.texts import REHEARSAL
from dmlbench.statistics.agreement import agreement

with job(snakemake):
    agreement(
        snakemake.params.rows,
        snakemake.input.scores,
        tables=snakemake.input.tables,
        printed=snakemake.input.printed,
        findings=snakemake.input.findings,
        note=REHEARSAL if snakemake.params.rehearsal else "",
        output=snakemake.output[0],
    )
