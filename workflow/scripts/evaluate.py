"""Rule evaluate: the scores of a run, in long format, and what each query found."""

from dmlbench.evaluation.run_scores import write_scores
from dmlbench.job import job

with job(snakemake):
    write_scores(
        snakemake.wildcards.run,
        embeddings=snakemake.input.embeddings,
        metrics=snakemake.params.metrics,
        threads=snakemake.threads,
        output=snakemake.output.scores,
        queries=snakemake.output.queries,
    )
