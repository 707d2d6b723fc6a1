"""Rule tournament: the methods of a study, ranked over its experiments."""

from dmlbench.job import job
from dmlbench.statistics.tournament import write_tournament

with job(snakemake):
    facts = snakemake.params.facts
    write_tournament(
        facts["rows"],
        snakemake.input.scores,
        csv=snakemake.output.csv,
        parquet=snakemake.output.parquet,
        metric=facts["metric"],
        methods=facts["methods"],
        selection=facts["selection"],
        queries=snakemake.input.queries,
        rehearsal=facts["rehearsal"],
    )
